// Upper edges of every histogram: vLLM's own, so that its dashboards read ours, and finer ones
// below, where a small model or a warm cache answers.
#pragma once

#include <span>

namespace affine {

std::span<const double> FirstTokenEdges();  // seconds; vllm:time_to_first_token_seconds
std::span<const double> TokenGapEdges();    // seconds; vllm:inter_token_latency_seconds
std::span<const double> LatencyEdges();     // seconds; vllm:e2e_request_latency_seconds and others
std::span<const double> StepEdges();        // seconds; one step of the engine
std::span<const double> StepTokenEdges();   // tokens in a step; vllm:iteration_tokens_total
std::span<const double> BatchSizeEdges();   // sequences in a step
std::span<const double> TokenCountEdges();  // tokens of a request; vllm:request_prompt_tokens

}  // namespace affine
