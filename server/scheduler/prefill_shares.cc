#include "server/scheduler/prefill_shares.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace affine {
namespace {

int32_t Left(const PrefillWish& wish) { return wish.wanted - wish.share; }

int LengthClass(const PrefillWish* wish) {
  return std::bit_width(static_cast<uint32_t>(Left(*wish))) / 2;
}

void Give(PrefillWish& wish, int32_t count, StepBudget& budget) {
  budget.TakePrefill(wish.start + wish.share, count);
  wish.share += count;
}

// Among sequences of equal priority.
void ShareEvenly(std::span<PrefillWish> wishes, StepBudget& budget, int32_t granule) {
  const auto fit = [granule](const PrefillWish& wish, const StepBudget& from) {
    return from.Fit(wish.start + wish.share, Left(wish), granule);
  };
  if (wishes.size() > 1) {
    StepBudget half = budget.Half();
    for (PrefillWish& wish : wishes) {
      const int32_t count = fit(wish, half);
      half.TakePrefill(wish.start + wish.share, count);
      Give(wish, count, budget);
    }
  }
  std::vector<PrefillWish*> shortest_first;
  for (PrefillWish& wish : wishes) shortest_first.push_back(&wish);
  std::ranges::stable_sort(shortest_first, {}, LengthClass);
  for (PrefillWish* wish : shortest_first) Give(*wish, fit(*wish, budget), budget);
}

}  // namespace

void SharePrefill(std::span<PrefillWish> wishes, StepBudget budget, int32_t granule) {
  if (wishes.empty()) return;
  PrefillWish& first = wishes.front();
  Give(first, std::min({first.wanted, granule, budget.for_prefill()}), budget);
  while (!wishes.empty()) {
    const int32_t priority = wishes.front().sequence->priority;
    const auto end = std::ranges::find_if(wishes, [priority](const PrefillWish& wish) {
      return wish.sequence->priority != priority;
    });
    const auto count = static_cast<size_t>(end - wishes.begin());
    ShareEvenly(wishes.first(count), budget, granule);
    wishes = wishes.subspan(count);
  }
}

}  // namespace affine
