"""Templates to compare with Python's Jinja: of the kinds that models bring, and of each part of the language."""

TALK = [
    {"role": "system", "content": "Answer briefly. "},
    {"role": "user", "content": "  What is 2 + 2?\n"},
    {"role": "assistant", "content": "Four, \"4\"."},
    {"role": "user", "content": "Größe → 日本語 🙂 <b>&amp;</b>"},
]
NO_SYSTEM = TALK[1:]
THOUGHTS = [
    {"role": "user", "content": "Think."},
    {"role": "assistant", "content": "<think>\nA.\nB.\n</think>\n\nDone."},
    {"role": "user", "content": "Again."},
    {"role": "assistant", "content": "Well.", "reasoning_content": "Hm.\n"},
]
TOOLS = [{"type": "function",
          "function": {"name": "weather", "description": "Of a town; \"now\".",
                       "parameters": {"type": "object", "properties": {"town": {"type": "string"}},
                                      "required": ["town"]}}}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

CHATML = """{% for message in messages %}
{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

DEFAULT_SYSTEM = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}\
{{ '<|im_start|>system\\nBe helpful.<|im_end|>\\n' }}{% endif %}\
{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

LLAMA2 = """{% if messages[0]['role'] == 'system' %}
  {% set rest = messages[1:] %}{% set system = messages[0]['content'] %}
{% else %}
  {% set rest = messages %}{% set system = false %}
{% endif %}
{% for message in rest %}
  {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
    {{ raise_exception('Roles must alternate user/assistant/user/assistant/...') }}
  {% endif %}
  {% if loop.index0 == 0 and system != false %}
    {% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + message['content'] %}
  {% else %}
    {% set content = message['content'] %}
  {% endif %}
  {% if message['role'] == 'user' %}
    {{- bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
  {% elif message['role'] == 'assistant' %}
    {{- ' '  + content.strip() + ' ' + eos_token }}
  {% endif %}
{% endfor %}"""

LLAMA3 = """{% set loop_messages = messages %}{% for message in loop_messages %}\
{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}\
{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""

LLAMA31 = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- The system message comes apart. -#}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {{- "Functions:\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

MISTRAL = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("Roles must alternate, but message " ~ ns.index ~ " is of " ~ message.role) }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}
"""

ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}\
{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}\
{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"""

QWEN25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'Be helpful.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

QWEN3 = """{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and message.content is string and not(message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set thoughts = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or thoughts) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thoughts.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

MACROS = """{%- macro line(role, text='none', end="|") -%}
    [{{ role }}] {{ text | trim }}{{ end }}
{%- endmacro %}
{%- macro twice(x) %}{{ line(x) }}{{ line(role=x, text=x * 2) }}{% endmacro %}
{%- for m in messages -%}
{{ line(m.role, m.content) }}
{{ line(m.role, end='') }}
{%- endfor %}
{{ twice('ab') }}"""

PARTS = """{%- for message in messages %}{{ message.role }}:
{%- if message.content is string %}{{ message.content }}
{%- elif message.content is iterable %}
{%- for part in message.content | selectattr('type', 'equalto', 'text') %}{{ part.text }}{% if not loop.last %}+{% endif %}{% endfor %}
{%- endif %}
{%- endfor %}"""

GENERATION = """{% for message in messages %}
{% if message.role == 'assistant' %}
<a>{% generation %}{{ message.content }}{% endgeneration %}</a>
{% else %}
<u>{{ message.content }}</u>
{% endif %}
{% endfor %}"""


def chat(messages, generation=True, **more):
    return dict(messages=messages, add_generation_prompt=generation, **TOKENS, **more)


TEMPLATES = {
    "chatml": (CHATML, chat(TALK)),
    "chatml, no generation prompt": (CHATML, chat(TALK, False)),
    "chatml with a default system message": (DEFAULT_SYSTEM, chat(NO_SYSTEM)),
    "chatml with the caller's system message": (DEFAULT_SYSTEM, chat(TALK)),
    "llama 2": (LLAMA2, chat(TALK)),
    "llama 2 refuses": (LLAMA2, chat(TALK[1:2] * 2)),
    "llama 3": (LLAMA3, chat(TALK)),
    "llama 3.1": (LLAMA31, chat(TALK)),
    "llama 3.1 with tools": (LLAMA31, chat(NO_SYSTEM, tools=TOOLS)),
    "llama 3.1 with a date": (LLAMA31, chat(NO_SYSTEM, date_string="1 Jan 2026")),
    "mistral": (MISTRAL, chat(TALK)),
    "mistral refuses": (MISTRAL, chat(TALK[2:])),
    "zephyr": (ZEPHYR, chat(TALK)),
    "zephyr of one": (ZEPHYR, chat(TALK[1:2])),
    "gemma": (GEMMA, chat(NO_SYSTEM)),
    "gemma refuses": (GEMMA, chat(TALK)),
    "qwen 2.5": (QWEN25, chat(TALK)),
    "qwen 2.5 with tools": (QWEN25, chat(NO_SYSTEM + [{"role": "tool", "content": "7 °C"}], tools=TOOLS)),
    "qwen 3": (QWEN3, chat(THOUGHTS)),
    "qwen 3 going on": (QWEN3, chat(THOUGHTS[:3])),
    "qwen 3 not thinking": (QWEN3, chat(THOUGHTS[:3], enable_thinking=False)),
    "macros": (MACROS, chat(TALK)),
    "parts": (PARTS, chat([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"},
                                                        {"type": "text", "text": "b"}]}, TALK[1]])),
    "generation tags": (GENERATION, chat(TALK)),
}

# Each is rendered alone.
SNIPPETS = [
    # white space
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc\n\n",
    "a {%+ if true +%}\n b\n {%+ endif %}\n",
    "x {# c #}\n y\n  {#- c -#}\n z {#+ c +#}\n",
    "  {{ 1 }}\n  {{- 2 -}}\n  3",
    "\r\na\r\n{% set x = 1 %}\r\n{{ x }}\rb\r\n",
    "{% raw %} {{ x }} {% endraw %}\n.",
    "  {%- raw -%}  {% if %} \n {%- endraw +%}\n.",
    "{{ '{{' }}{{ '}}' }}{{ {'a': {'b': 1}}['a']['b'] }}",
    "{ % } {{ '%}' }} {%- set x = '{{ no }}' -%} {{ x }}",
    "text only",
    "",
    "\n",
    "{% if true %}{% endif %}\n\n\n",
    "\u2003{%- if true -%}\u2003b\u00a0{%- endif %}",
    # literals
    r"{{ 'a\n\t\\\'\"\x41\u00e9\U0001F642\101\q' }}",
    "{{ 'a' 'b' \"c\" }}",
    "{{ 1.5 }} {{ 2.0 }} {{ 1e3 }} {{ 1e22 }} {{ 1.0e-7 }} {{ 0.1 + 0.2 }} {{ 123456789.125 }} {{ 1e16 }} {{ 12345e-9 }}",
    "{{ true }} {{ True }} {{ false }} {{ none }} {{ None }}",
    "{{ [] }} {{ [1, 'a', none, [true]] }} {{ () }} {{ (1,) }} {{ (1, 2) }} {{ 1, 2 }}",
    "{{ {} }} {{ {'a': 1, 2: \"it's\", none: 'q\"\\'', 'ü': '\\n\\x07\\u200b'} }}",
    "{{ {'a': 1, 'b': 2, 'a': 3} }}",
    # arithmetic
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }}",
    "{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ +1 }} {{ - 1 }} {{ true + 1 }} {{ 2 ** 3 ** 2 }}",
    "{{ 'ab' * 3 }} {{ 2 * 'ab' }} {{ [1] * 2 }} {{ [1] + [2] }} {{ 'a' + 'b' }} {{ 'a' * -1 }}|",
    "{{ 1 ~ 'a' ~ none ~ true ~ 1.0 ~ nothing }}",
    "{{ 10 | string ~ 'x' }} {{ -3 | abs }} {{ 1 - -1 }}",
    # comparisons
    "{{ 1 < 2 }} {{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'a' == 1 }}",
    "{{ 'a' in 'abc' }} {{ 'd' not in 'abc' }} {{ 1 in [1] }} {{ 'a' in {'a': 1} }} {{ 1 in (2,) }} {{ 'x' in nothing }} {{ not 1 in [1] }}",
    "{{ {'a': [1]} == {'a': [1]} }} {{ (1,) == [1] }} {{ none == false }} {{ nothing == nothing }} {{ [1] != [2] }}",
    "{{ 1 and 2 }} {{ 0 or 'x' }} {{ '' and 1 }}|{{ not '' }} {{ not [0] }} {{ 1 if 0 else 2 if 0 else 3 }} {{ 1 if 0 }}|",
    "{{ 'a' if true }} {{ 'b' if nothing is defined else 'c' }} {{ (1 if 0 else 2) + 1 }}",
    # access
    "{{ d.a }} {{ d['a'] }} {{ d.b.c }} {{ d['b']['c'] }} {{ d.zz }}|{{ d['zz'] }}|{{ l[0] }} {{ l[-1] }} {{ l[9] }}|{{ l.0 }}",
    "{{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.keys() | list }} {{ d.values() | list }} {{ d.items() | list }}",
    "{{ s[0] }} {{ s[-1] }} {{ s[1:3] }} {{ s[::-1] }} {{ s[:-1] }} {{ s[-3:] }} {{ s[::2] }} {{ s[5:1:-2] }} {{ s[99:] }}|{{ s[-99:2] }}",
    "{{ l[1:] }} {{ l[::-1] }} {{ l[:-1] }} {{ l[-2:] }} {{ l[::-2] }} {{ (1, 2, 3)[1:] }} {{ [][1:] }} {{ l[none:2] }}",
    "{{ nothing }}|{{ nothing | default('x') }} {{ nothing | d }}|{{ '' | default('x') }}|{{ '' | default('x', true) }} {{ none | default('x') }} {{ d.zz | default(1) }}",
    # statements
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }} {{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %} {% for x in nothing %}{% else %}none{% endfor %}",
    "{% for x in l if x != 2 %}{{ loop.index }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for (a, b) in [[1, 2]] %}{{ a + b }}{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %} {% for c in 'aü' %}<{{ c }}>{% endfor %}",
    "{% for x in l %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}",
    "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }} {{ ns.b }}|",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, %}{{ c }}",
    "{% set x %}  a {{ 1 + 1 }}\n{% endset %}[{{ x }}] {% set y | trim | upper %}  b {% endset %}[{{ y }}]",
    "{% filter upper %}a{{ 'b' }}{% endfilter %}{% filter trim | replace('a', 'c') %} aba {% endfilter %}.",
    "{% if 0 %}a{% elif 1 %}b{% elif 2 %}c{% else %}d{% endif %}{% if 0 %}a{% elif 0 %}b{% else %}d{% endif %}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }} {{ m() }}",
    "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% set g = 7 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 8 %}{{ m() }}",
    "{{ range(3) | list }} {{ range(1, 4) | list }} {{ range(5, 0, -2) | list }} {{ dict(a=1, b=2) }} {{ range(2) | length }}",
    "{% for i in range(3) %}{{ i }}{% endfor %} {{ 2 in range(3) }} {{ range(3)[1] }}",
    # tests
    "{{ nothing is defined }} {{ s is defined }} {{ nothing is undefined }} {{ none is none }} {{ s is not none }} {{ d.zz is defined }}",
    "{{ s is string }} {{ 1 is string }} {{ d is mapping }} {{ l is mapping }} {{ l is iterable }} {{ 1 is iterable }} {{ s is iterable }}",
    "{{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ 1 is sequence }} {{ nothing is iterable }}",
    "{{ 1 is number }} {{ 1.5 is number }} {{ true is number }} {{ '1' is number }} {{ 1 is integer }} {{ true is integer }} {{ 1.0 is float }}",
    "{{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }} {{ true is boolean }} {{ 1 is boolean }}",
    "{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 1 is in [1] }} {{ 1 is eq 1 }} {{ 1 is equalto 2 }} {{ 1 is ne 2 }}",
    "{{ 1 is lt 2 }} {{ 1 is ge(2) }} {{ 'A' is upper }} {{ 'a' is lower }} {{ none is sameas none }} {{ s is not string and true }} {{ raise_exception is callable }}",
    "{{ 'trim' is filter }} {{ 'zz' is filter }} {{ 'defined' is test }}",
    # filters
    "[{{ '  a b ' | trim }}] [{{ 'xxaxx' | trim('x') }}] {{ 'aB' | upper }} {{ 'aB' | lower }} {{ 'aB cD' | capitalize }} {{ \"it's a-b (c) d\" | title }}",
    "{{ 'straße' | upper }} {{ 'ÀÉ' | lower }} {{ 'éa' | capitalize }} {{ 5 | upper }}",
    "{{ s | length }} {{ l | count }} {{ d | length }} {{ 'äö' | length }}",
    "{{ l | first }} {{ l | last }} {{ [] | first }}|{{ 'ab' | first }} {{ l | min }} {{ l | max }} {{ l | sum }} {{ [] | max }}|",
    "{{ l | join }} {{ l | join(', ') }} {{ [{'a': 1}, {'a': 2}] | join('-', attribute='a') }} {{ 'abc' | join('.') }}",
    "{{ 'a.b.a' | replace('a', 'x') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 'ab' | replace('', '-') }} {{ 5 | replace(5, 6) }}",
    "{{ '3' | int }} {{ '3.7' | int }} {{ 'x' | int }} {{ 'x' | int(9) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ ' 4 ' | int }} {{ true | int }}",
    "{{ '3.5' | float }} {{ 'x' | float }} {{ 2 | float }} {{ 'x' | float(1.5) }} {{ '1e3' | float }}",
    "{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 2.1 | round(0, 'ceil') }} {{ 2.19 | round(1, 'floor') }} {{ 7 | round }} {{ 1234.5 | round(-2) }}",
    "{{ l | list }} {{ 'abc' | list }} {{ d | list }} {{ l | reverse | list }} {{ 'abc' | reverse }}",
    "{{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A'] | sort(case_sensitive=true) }} {{ [1, 3, 2] | sort(reverse=true) }} {{ [{'a': 2}, {'a': 1}] | sort(attribute='a') }}",
    "{{ d | dictsort }} {{ {'b': 1, 'A': 2} | dictsort }} {{ {'b': 1, 'a': 2} | dictsort(by='value') }} {{ {'b': 1, 'a': 2} | dictsort(reverse=true) }}",
    "{{ [1, 2, 1, 'a', 'A'] | unique | list }} {{ d | items | list }} {{ nothing | items | list }}",
    "{{ l | map('string') | list }} {{ [{'a': 1}, {}] | map(attribute='a', default=0) | list }} {{ ['a '] | map('trim') | map('upper') | join }}",
    "{{ [{'a': {'b': 1}}] | map(attribute='a.b') | list }} {{ [[5, 6]] | map(attribute=1) | list }} {{ ['ab'] | map('replace', 'a', 'c') | list }}",
    "{{ l | select('odd') | list }} {{ l | reject('odd') | list }} {{ [0, 1, ''] | select | list }} {{ l | select('gt', 2) | list }}",
    "{{ m | selectattr('a') | list }} {{ m | rejectattr('a') | list }} {{ m | selectattr('a', 'equalto', 1) | list }} {{ m | selectattr('a', 'defined') | list | length }}",
    "{{ l | tojson }} {{ d | tojson }} {{ 'ä\"\\n<&>' | tojson }} {{ 'ä🙂' | tojson(ensure_ascii=true) }} {{ [1.0, none, true] | tojson }}",
    "{{ d | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ {'b': 1, 'a': {}} | tojson(sort_keys=true) }} {{ [1, 2] | tojson(separators=(',', ':')) }}",
    "{{ {1: 2, none: 3, true: 4.5} | tojson }}",
    "{{ 'a\\nb\\n\\nc' | indent }}|{{ 'a\\nb' | indent(2, true) }}|{{ 'a\\n\\nb' | indent(1, blank=true) }}|{{ 'a\\nb' | indent('> ') }}|{{ '' | indent }}",
    "{{ 'a' | safe }} {{ 5 | string }} {{ [1] | string }} {{ nothing | string }}|",
    # methods
    "[{{ '  a '.strip() }}] [{{ ' a '.lstrip() }}] [{{ ' a '.rstrip() }}] {{ 'xyaxy'.strip('xy') }} {{ 'aab'.lstrip('a') }} {{ 'a'.strip('') }}",
    "{{ 'a b  c'.split() }} {{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a b c '.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'abab'.split('ab') }}",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith('bc') }} {{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.replace('b', '') }} {{ 'aaa'.replace('a', 'b', 1) }}",
    "{{ 'aB c'.upper() }} {{ 'aB'.lower() }} {{ \"they're here-now x1y\".title() }} {{ 'aB'.capitalize() }} {{ 'abcb'.find('b') }} {{ 'abcb'.rfind('b') }} {{ 'abc'.find('z') }} {{ 'äöb'.find('b') }}",
    "{{ 'aba'.count('a') }} {{ '-'.join(['a', 'b']) }} {{ '12'.isdigit() }} {{ 'a1'.isalpha() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ ''.isdigit() }} {{ 'Ab'.isupper() }} {{ 'ab1'.islower() }}",
    "{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'a'.partition('=') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}",
    "{{ l.index(2) }} {{ l.count(1) }} {{ 'a b'.split()[-1] }} {{ d.copy() == d }} {{ 'abc'.index('c') }}",
    "{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %b %Y, %H:%M:%S') }}",
]

# Python refuses these as well.
REFUSED = [
    "{{ nothing.x }}", "{{ d.zz.y }}", "{{ nothing() }}", "{{ nothing + 1 }}", "{{ 1 + 'a' }}", "{{ 'a' - 'b' }}", "{{ 1 // 0 }}",
    "{{ 1 < 'a' }}", "{{ none.x.y }}", "{{ raise_exception('no: ' ~ s) }}", "{% for x in 5 %}{% endfor %}", "{% for a, b in [[1]] %}{% endfor %}",
    "{% set ns.a = 1 %}", "{{ 'a'.split('') }}", "{{ [1].index(2) }}", "{{ 1 in 'a' }}", "{{ l | join(1, 2, 3) }}", "{{ d.update({}) }}",
    "{{ l.append(1) }}", "{{ {[]: 1} }}", "{{ range(200000) }}", "{{ 1 | items | list }}", "{{ s[::0] }}", "{{ 'abc' | tojson(9, 9, 9, 9, 9) }}",
    "{% if %}{% endif %}", "{% if x %}", "{{ x", "{{ (1 }}", "{{ 1 2 }}", "{% zz %}", "{{ x | zz }}", "{{ x is zz }}", "{# x", "{% raw %}x",
    "{% for x in %}{% endfor %}", "{% endfor %}", "{{ 'a }}", "{% set x %}", "{% break %}", "{{ a b }}", "{{ 1 + }}", "{{ [1 }}", "{{ @ }}",
    "{{ s.__class__.x }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(1) }}",
]
VARIABLES = {"s": "abcdef", "l": [1, 2, 3, 4], "d": {"a": 1, "b": {"c": "x"}}, "m": [{"a": 1}, {"a": 0}, {"a": 2}]}


def cases():
    """Yields (name, template, variables)."""
    for name, (template, variables) in TEMPLATES.items():
        yield name, template, variables
    for snippet in SNIPPETS + REFUSED:
        yield "", snippet, VARIABLES
