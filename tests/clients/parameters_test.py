"""Parameters and the contract: none is missing, and each kind of field is sent as what it is."""

from __future__ import annotations

from typing import Any

import pytest
from affine_client import CompletionParams, InvalidArgument
from affine_client._proto import completion_pb2 as pb
from affine_client.wire import completion_request, fill
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto


def test_every_field_of_the_contract_is_a_parameter() -> None:
    request, sampling = pb.CompleteRequest.DESCRIPTOR, pb.SamplingParams.DESCRIPTOR
    prompts = {field.name for field in request.oneofs_by_name["prompt"].fields}
    fields = set(request.fields_by_name) | set(sampling.fields_by_name)
    missing = fields - prompts - {"sampling"} - set(CompletionParams.__annotations__)
    assert not missing, f"add {sorted(missing)} to CompletionParams in affine_client/parameters.py"


def test_every_parameter_is_a_field_of_the_contract() -> None:
    request, sampling = pb.CompleteRequest.DESCRIPTOR, pb.SamplingParams.DESCRIPTOR
    for name in CompletionParams.__annotations__:
        assert (name in request.fields_by_name) != (name in sampling.fields_by_name), name


def test_zero_is_sent_and_none_is_not() -> None:
    request = completion_request("x", {"temperature": 0, "max_tokens": 0, "seed": None})
    assert request.sampling.HasField("temperature") and request.HasField("max_tokens")
    assert not request.sampling.HasField("seed")
    assert completion_request([1, 2], {"stop": "a"}).stop == ["a"]


def test_messages_are_sent_as_a_conversation() -> None:
    request = completion_request([{"role": "user", "content": "hi"}], {})
    assert [(message.role, message.content) for message in request.chat.messages] == [("user", "hi")]
    with pytest.raises(InvalidArgument, match="chat"):
        completion_request([{"role": "user", "text": "hi"}], {})


def strange_message() -> Any:
    """A message with a map and a message, which the contract may come to have."""
    file = descriptor_pb2.FileDescriptorProto(name="strange.proto", package="strange")
    strange = file.message_type.add(name="Strange")
    entry = strange.nested_type.add(name="BiasEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_UINT32, label=Field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=Field.TYPE_FLOAT, label=Field.LABEL_OPTIONAL)
    strange.field.add(
        name="bias",
        number=1,
        type=Field.TYPE_MESSAGE,
        label=Field.LABEL_REPEATED,
        type_name=".strange.Strange.BiasEntry",
    )
    shape = strange.nested_type.add(name="Shape")
    shape.field.add(name="regex", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    strange.field.add(
        name="shape",
        number=2,
        type=Field.TYPE_MESSAGE,
        label=Field.LABEL_OPTIONAL,
        type_name=".strange.Strange.Shape",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("strange.Strange"))()


def test_maps_and_messages_are_dicts() -> None:
    message = strange_message()
    fill(message, "bias", {5: -1.5, 7: 2})
    fill(message, "shape", {"regex": "a+"})
    assert (dict(message.bias), message.shape.regex) == ({5: -1.5, 7: 2.0}, "a+")
    fill(message, "shape", {})
    assert message.HasField("shape")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("bias", {-1: 1.0}, r"bias\[-1\] is 1.0"),
        ("bias", {1: "x"}, r"bias\[1\] is 'x'"),
        ("bias", [1], r"bias is \[1\]: it must be a dict"),
        ("shape", {"rgx": "a"}, "shape is .*rgx"),
        ("shape", "a", "shape is 'a'"),
    ],
)
def test_a_value_that_does_not_fit_names_the_parameter(name: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        fill(strange_message(), name, value)
