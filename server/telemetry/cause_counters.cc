#include "server/telemetry/cause_counters.h"

#include "server/api/errors/error_table.h"

namespace affine {

CauseCounters::CauseCounters(prometheus::Registry& registry, const std::string& model_name,
                             const char* name, const char* help) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  for (size_t i = 0; i < kErrorCauses.size(); ++i) {
    counters_[i] = &family.Add(
        {{"model_name", model_name}, {"cause", std::string(CodesOf(kErrorCauses[i]).code)}});
  }
}

void CauseCounters::Increment(ErrorCause cause) {
  static_assert(kErrorCauses.back() == ErrorCause::kInternal);
  size_t i = 0;
  while (i + 1 < kErrorCauses.size() && kErrorCauses[i] != cause) ++i;
  counters_[i]->Increment();
}

}  // namespace affine
