#include "server/scheduler/forecast.h"

#include <algorithm>
#include <cmath>

namespace affine {
namespace {

StepWork DecodesOf(std::span<const ForecastSequence> running) {
  StepWork decodes;
  for (const ForecastSequence& sequence : running) {
    if (sequence.decoding) decodes.AddDecode(sequence.computed, 1);
  }
  return decodes;
}

/// Until one more may run than `max_num_seqs` lets now.
double PlaceSeconds(std::span<const ForecastSequence> running, size_t ahead,
                    const ForecastLimits& limits, double step) {
  const auto places = static_cast<size_t>(limits.max_num_seqs);
  if (running.size() + ahead < places || running.empty()) return 0.0;
  std::vector<int32_t> to_come;
  for (const ForecastSequence& sequence : running) to_come.push_back(sequence.to_come);
  std::ranges::sort(to_come);
  const size_t too_many = running.size() + ahead + 1 - places;
  return step * to_come[std::min(too_many, to_come.size()) - 1];
}

struct Prefill {
  double seconds = 0.0;
  int64_t tokens = 0;
  void Add(const ForecastSequence& sequence, const StepTimeModel& times) {
    const int32_t left = sequence.length - sequence.computed;
    seconds += times.PrefillSeconds(sequence.computed, left);
    tokens += left;
  }
};

}  // namespace

Forecast ForecastFor(const ForecastSequence& own, std::span<const ForecastSequence> running,
                     std::span<const ForecastSequence> ahead, const ForecastLimits& limits,
                     const StepTimeModel& times) {
  const StepWork decodes = DecodesOf(running);
  const double step = times.Seconds(decodes);  // without prefill
  Prefill prefill;
  prefill.Add(own, times);
  for (const ForecastSequence& sequence : running) {
    if (!sequence.decoding) prefill.Add(sequence, times);
  }
  for (const ForecastSequence& sequence : ahead) prefill.Add(sequence, times);
  double steps = std::ceil(static_cast<double>(prefill.tokens) /
                           std::max<double>(1.0, limits.max_tokens - decodes.decode_tokens));
  if (limits.max_seconds > 0.0 && decodes.decode_tokens > 0) {
    const double least = times.PrefillSeconds(own.computed, limits.granule);
    const double share = std::max(limits.max_seconds - step, least);
    steps = std::max(steps, std::ceil(prefill.seconds / share));
  }
  Forecast forecast;
  forecast.ahead = static_cast<int32_t>(running.size() + ahead.size());
  forecast.first_token = PlaceSeconds(running, ahead.size(), limits, step) + prefill.seconds +
                         std::max(steps, 1.0) * step;
  StepWork all;
  all.AddDecode(own.length, 1);
  auto places = limits.max_num_seqs - 1;
  for (const auto& list : {running, ahead}) {
    for (const ForecastSequence& sequence : list) {
      if (places-- > 0) all.AddDecode(sequence.length, 1);
    }
  }
  forecast.per_token = times.Seconds(all);
  return forecast;
}

}  // namespace affine
