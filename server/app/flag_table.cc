#include "server/app/flag_table.h"

#include <algorithm>
#include <utility>

#include "server/app/allowed_origins_flag.h"
#include "server/app/stability_limits_flag.h"

namespace affine {
namespace {

constexpr char kModel[] = "Model";
constexpr char kPort[] = "Port";
constexpr char kBatch[] = "Cache and batches";
constexpr char kSpeculation[] = "Speculation";
constexpr char kGrammar[] = "Structured output";
constexpr char kStability[] = "Stability of the attention";
constexpr char kProcess[] = "Process";

}  // namespace

FlagTable::FlagTable() {
  AddModelFlags();
  AddPortFlags();
  AddBatchFlags();
  AddSpeculationFlags();
  AddGrammarFlags();
  AddStabilityFlags();
  AddProcessFlags();
}

void FlagTable::Add(const std::string& group, Flag flag, const std::string& value_name,
                    std::string help) {
  flag.group = group;
  flag.help = std::move(help);
  if (!value_name.empty()) flag.value_name = value_name;
  flags_.push_back(std::move(flag));
}

void FlagTable::AddModelFlags() {
  Add(kModel, TextFlag("model", &Config::model), "FOLDER,...",
      "Checkpoint folder in Hugging Face layout, or NAME=FOLDER to name it at once. Several, at "
      "most 16, are served side by side; requests that name none get the first. A comma in a "
      "folder's name is written \\,. May also be given without --model=, one argument for each.");
  Add(kModel, TextFlag("served_model_name", &Config::served_model_name), "NAME,...",
      "Names that requests ask for, one for each model. Empty: the folders' own names.");
  Add(kModel, TextFlag("chat_template", &Config::chat_template), "FILE|NAME=FILE,...",
      "Jinja template that makes a prompt of a conversation, instead of the one in the model's "
      "folder; of several models, those that are named. A comma in a file's name is written \\,.");
  Add(kModel, TextFlag("device", &Config::device, {"cpu", "cuda"}), "cpu|cuda",
      "Where the model runs. Refused with the reason when it is not there.");
  Add(kModel, TextFlag("dtype", &Config::dtype, {"auto", "float32", "bfloat16"}),
      "auto|float32|bfloat16", "Type of weights and cache. auto: as the checkpoint stores them.");
  Add(kModel, TextFlag("weights", &Config::weights, {"auto", "int8", "int4"}), "auto|int8|int4",
      "How the linear layers' weights are kept. auto: as --dtype says. int8, int4: rounded while "
      "loading, to about half or a third of the bytes of bfloat16; int4 keeps the output "
      "projection in int8. Everything else is then bfloat16.");
  Add(kModel,
      IntegerFlag("max_model_len", &Config::max_model_len,
                  {0, 16'777'216, "0 and auto take what the checkpoint allows", true, false}),
      "N|auto",
      "Most tokens of a prompt and its output together; 32k is 32000, 32K is 32768. 0 or auto: "
      "what the checkpoint allows.");
}

void FlagTable::AddPortFlags() {
  Add(kPort, TextFlag("host", &Config::host), "ADDRESS",
      "Address to listen on; 0.0.0.0 listens on every IPv4 interface.");
  Add(kPort, IntegerFlag("port", &Config::port, {0, 65535, "0 takes any free port", false, false}),
      "", "TCP port for gRPC and HTTP alike. 0: any free one, shown at the start.");
  Add(kPort,
      IntegerFlag("http_threads", &Config::http_threads,
                  {1, 256, "2 are enough on a small machine", false, false}),
      "", "Threads for HTTP, JSON, tokenising and detokenising, for all models together.");
  Add(kPort,
      IntegerFlag("max_body_mib", &Config::max_body_mib,
                  {1, 1024, "requests with larger bodies get 413", false, false}),
      "", "Largest request body or message, in MiB.");
  Flag api_key = TextFlag("api_key", &Config::api_key);
  api_key.secret = true;
  Add(kPort, std::move(api_key), "KEY",
      "Key that callers must send as a bearer token. Empty: none. Command lines can be read by "
      "other users; prefer the environment or --api_key_file.");
  Add(kPort, TextFlag("api_key_file", &Config::api_key_file), "FILE",
      "File that holds the key, such as a mounted secret; white space around it is left out.");
  Add(kPort, AllowedOriginsFlag(), "",
      "Web pages whose scripts may call over HTTP, by origin, such as https://chat.example; * "
      "allows all. Empty: none but the server's own.");
}

void FlagTable::AddBatchFlags() {
  Add(kBatch,
      NumberFlag("kv_cache_gib", &Config::kv_cache_gib,
                 {0, 65536, "0 takes a quarter of the free memory, at most 4"}),
      "X",
      "Memory for the paged key-value caches of all models together, in GiB. 0: a quarter of the "
      "memory that is free before loading, at most 4.");
  Add(kBatch, TextFlag("kv_cache_shares", &Config::kv_cache_shares), "NAME=WEIGHT,...",
      "How several models divide --kv_cache_gib: a weight for each of them. Empty: evenly.");
  Add(kBatch,
      IntegerFlag("block_size", &Config::block_size,
                  {16, 256, "16 shares prefixes at the finest grain", false, true}),
      "", "Tokens in one cache block.");
  Add(kBatch, BooleanFlag("enable_prefix_caching", &Config::enable_prefix_caching), "",
      "Keep the blocks of past prompts and reuse them for prompts that begin alike.");
  Add(kBatch,
      IntegerFlag("max_num_batched_tokens", &Config::max_num_batched_tokens,
                  {1, 1'048'576,
                   "more tokens in a step let long prompts through faster and "
                   "make everyone else's next token later",
                   false, false}),
      "", "Most tokens in one step of a model, prompts' and outputs' together.");
  Add(kBatch,
      IntegerFlag("max_prefill_tokens_beside_decodes", &Config::max_prefill_tokens_beside_decodes,
                  {0, 1'048'576, "0 leaves prefill what decodes leave of a step", false, false}),
      "N",
      "Most prompt tokens, of all prompts together, in a step that also decodes: fewer make gaps "
      "between tokens even and first tokens later. 0: no bound but --max_num_batched_tokens. "
      "vLLM's --long-prefill-token-threshold bounds each prompt alone, in every step.");
  Add(kBatch,
      IntegerFlag(
          "max_decode_stall_ms", &Config::max_decode_stall_ms,
          {0, 3'600'000, "0 lets prompts stall decodes as long as they need", false, false}),
      "MS",
      "Most milliseconds that a step which also decodes is expected to take, by what earlier steps "
      "took: prompts come in as many pieces as that needs, of 16 tokens at least. Lower makes gaps "
      "between tokens shorter and first tokens later. 0: no bound. "
      "--max_prefill_tokens_beside_decodes holds as well.");
  Add(kBatch,
      IntegerFlag("max_num_seqs", &Config::max_num_seqs,
                  {1, 4096, "requests beyond it wait in the queue", false, false}),
      "", "Most requests that run at once, for each model by itself.");
  Add(kBatch,
      IntegerFlag("max_num_queued_reqs", &Config::max_num_queued_reqs,
                  {1, 1'000'000, "requests beyond it get 429 at once", false, false}),
      "", "Most requests that wait, for each model by itself.");
  Add(kBatch,
      IntegerFlag("threads", &Config::threads,
                  {0, 1024, "0 takes one for each core", false, false}),
      "",
      "Threads for the models. 0: one for each core. Several models divide them evenly, rounded "
      "down, at least one each, because their steps run at the same time.");
}

void FlagTable::AddSpeculationFlags() {
  Add(kSpeculation,
      IntegerFlag("speculative_tokens", &Config::speculative_tokens,
                  {0, 64, "0 goes token by token", false, false}),
      "N",
      "Most tokens that a step guesses and checks ahead of a sequence's next one, where it repeats "
      "what stood in its prompt or output before. How many it does guess follows from how often "
      "guesses came true and from what a row more costs a step. Answers are the same bits for any "
      "number. 0: none.");
  Add(kSpeculation,
      IntegerFlag("prompt_lookup_max", &Config::prompt_lookup_max,
                  {1, 16, "tokens that repeat are looked for from this many down", false, false}),
      "N",
      "Tokens that must have stood together before for what followed them to be a guess: so many "
      "at first, then fewer.");
  Add(kSpeculation,
      IntegerFlag("prompt_lookup_min", &Config::prompt_lookup_min,
                  {1, 16, "fewer find more guesses and worse ones", false, false}),
      "N", "The fewest such tokens; at most --prompt_lookup_max.");
}

void FlagTable::AddGrammarFlags() {
  Add(kGrammar,
      IntegerFlag("max_grammar_bytes", &Config::max_grammar_bytes,
                  {1, 16'777'216, "larger ones get 400", false, false}),
      "N", "Most bytes of a JSON schema, a regular expression, a grammar or a list of choices.");
  Add(kGrammar,
      IntegerFlag("max_grammar_compile_ms", &Config::max_grammar_compile_ms,
                  {1, 60'000, "what takes longer gets 400", false, false}),
      "MS",
      "Most time of a processor that one form of output may take to compile, on a thread of each "
      "model's own.");
  Add(kGrammar,
      IntegerFlag("max_queued_grammars", &Config::max_queued_grammars,
                  {1, 4096, "forms beyond it get 429 at once", false, false}),
      "N", "Most forms that wait to be compiled, for each model by itself.");
  Add(kGrammar,
      IntegerFlag("grammar_cache_mib", &Config::grammar_cache_mib,
                  {0, 65'536, "0 keeps none", false, false}),
      "N",
      "Memory for compiled forms that requests may ask for again, for each model by itself, in "
      "MiB.");
}

void FlagTable::AddStabilityFlags() {
  Add(kStability,
      IntegerFlag("stability_sample_every", &Config::stability_sample_every,
                  {0, 1'000'000, "0 never measures", false, false}),
      "N",
      "Measure the stability of the attention in every so many steps of each model, for the "
      "metrics affine_attention_*. 0: never.");
  Add(kStability, StabilityLimitsFlag(), "",
      "How far a request's attention may go. largest_score: the highest q k / sqrt(head size). "
      "entropy: the lowest entropy of the softmax over a query's keys, in nats, mean over the "
      "heads of a layer, from 64 keys on. alpha_drift: the highest distance of a head's mean alpha "
      "from the mean that training left, from 64 queries on. Judged are requests that ask for "
      "stability and those that --stability_sample_every samples; alpha_drift on the former alone. "
      "A request that passes a limit is counted in "
      "affine_attention_unstable_requests_total{limit} and logged with its id. Empty: no limits.");
  Add(kStability, TextFlag("unstable_action", &Config::unstable_action, {"log", "finish"}),
      "log|finish",
      "What becomes of a request that passes a limit. log: it goes on. finish: its answer ends "
      "there, with the finish reason unstable.");
}

void FlagTable::AddProcessFlags() {
  Add(kProcess,
      NumberFlag("shutdown_timeout", &Config::shutdown_timeout,
                 {0, 86400, "0 cuts running requests off at once"}),
      "SECONDS",
      "How long running requests may take to finish after SIGTERM or SIGINT. A second signal cuts "
      "them off.");
  Add(kProcess, TextFlag("log_level", &Config::log_level, {"debug", "info", "warning", "error"}),
      "LEVEL", "Least level that is logged: debug, info, warning or error.");
  Add(kProcess, TextFlag("log_format", &Config::log_format, {"auto", "json", "text"}),
      "auto|json|text",
      "One JSON object or one line of text for each event, on stderr. auto: text on a terminal.");
  Add(kProcess, BooleanFlag("vllm_metrics", &Config::vllm_metrics), "",
      "Show metrics under vLLM's names too, for dashboards, autoscalers and gateways.");
}

const Flag* FlagTable::Find(std::string_view name) const {
  std::string normal(name);
  std::replace(normal.begin(), normal.end(), '-', '_');
  for (const Flag& flag : flags_) {
    if (flag.name == normal) return &flag;
  }
  return nullptr;
}

std::vector<std::string> FlagTable::Names() const {
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

}  // namespace affine
