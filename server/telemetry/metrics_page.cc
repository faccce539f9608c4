#include "server/telemetry/metrics_page.h"

#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>

#include "server/telemetry/vllm_aliases.h"

namespace affine {
namespace {

void Append(std::vector<prometheus::MetricFamily>& to, std::vector<prometheus::MetricFamily> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

MetricsPage::MetricsPage(std::vector<const prometheus::Collectable*> sources, bool vllm_aliases,
                         std::function<void()> before_scrape)
    : sources_(std::move(sources)),
      vllm_aliases_(vllm_aliases),
      before_scrape_(std::move(before_scrape)) {}

std::string MetricsPage::Render() const {
  if (before_scrape_) before_scrape_();
  std::vector<prometheus::MetricFamily> families;
  for (const prometheus::Collectable* source : sources_) Append(families, source->Collect());
  if (vllm_aliases_) Append(families, VllmAliases(families));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace affine
