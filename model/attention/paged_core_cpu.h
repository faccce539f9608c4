// Softmax attention over the paged cache on the CPU: the part that knows nothing of variants.
#pragma once

#include <cstdint>
#include <vector>

#include "model/attention/attention_batch.h"
#include "model/attention/observed_scores.h"
#include "model/cache/kv_cache.h"
#include "model/layers/packed_rows.h"
#include "model/runtime/kernels.h"
#include "model/runtime/worker_team.h"

namespace affine {

/// What the core returns for each row t and head h over the visible keys j <= t, all float32.
struct CoreOutput {
  float* output;       // [rows, heads, head_dim]: softmax(s) V, with s_j = q k_j / sqrt(head_dim)
  float* log_sum_exp;  // [rows, heads]: log sum_j exp s_j
  float* value_sum;    // [rows, kv_heads, head_dim]: sum_j v_j as stored; null if not wanted
  ScoreStatistics* statistics = nullptr;  // [observed rows, heads]; read if there are any
};

/// Projections of a step, in one buffer of `stride` floats a row.
struct CoreInput {
  const float* query;  // row r, head h at query + r * stride + h * head_dim; rotated, not scaled
  const float* key;    // the same with key-value heads; rotated
  const float* value;
  int64_t stride;
};

/// Keys are taken in parts of kPartKeys at fixed positions. A part's scores, maximum, exponentials
/// and weighted values are computed alone, and parts are merged in ascending order: a row's result
/// depends on its own keys only, never on the rows, chunks, blocks or threads beside it.
class PagedCoreCpu {
 public:
  static constexpr int64_t kPartKeys = 256;

  /// `element` is the caches'. With bfloat16, scaled queries and exponentials are rounded to it
  /// before they are multiplied; sums, and the sum of the exponentials, are of float32.
  PagedCoreCpu(const AttentionShape& shape, ElementType element, const Kernels& kernels,
               WorkerTeam& team);
  ~PagedCoreCpu();

  /// Writes the slices' keys and values to `cache`, and the value sums of their rows and blocks.
  void WriteCache(const AttentionBatch& batch, const CoreInput& input, const CacheLayer& cache,
                  float* value_sum) const;
  /// Reads `cache`, in which all positions up to the rows' own are written.
  void Attend(const AttentionBatch& batch, const CoreInput& input, const CacheLayer& cache,
              const CoreOutput& out);
  /// A second look at the scores of the observed rows: mass [observed rows, heads] becomes
  /// sum_j max(0, -(weight_p exp(s_j - lse) + beta)). Only where beta < 0 can a weight be negative,
  /// and only there is looked.
  struct AffineWeight {
    float weight_p = 1.0f;
    float beta = 0.0f;
    float log_sum_exp = 0.0f;
  };
  void NegativeMass(const AttentionBatch& batch, const CoreInput& input, const CacheLayer& cache,
                    const AffineWeight* weights, float* mass);
  /// Seconds that threads spent on statistics since the last call, divided by their number.
  double TakeObservationSeconds();

 private:
  static constexpr int64_t kWhole = -1;
  struct Tile;
  struct Scratch;
  /// Parts of a tile that one thread takes: results are merged at once (kWhole), or kept in kept_
  /// from `kept` on, to be merged when all of the tile's are there.
  struct Span {
    int64_t tile;  // in tiles_
    int64_t first_part;
    int64_t parts;
    int64_t kept;
  };
  /// What one part gives each of a tile's rows.
  struct Part {
    float* values;  // [rows, head_dim]: exponentials times values
    float* max;     // [rows]: the largest score, subtracted before the exponentials
    float* sum;     // [rows]: of the exponentials
  };
  void MakeTiles(const AttentionBatch& batch);
  void MakeSpans();
  void LoadQueries(const Tile& tile, const CoreInput& input, Scratch& scratch) const;
  void AttendTile(const Tile& tile, const CacheLayer& cache, Scratch& scratch) const;
  void KeepParts(const Tile& tile, const Span& span, const CacheLayer& cache, Scratch& scratch);
  void MergeKept(const Tile& tile, const Span& cut, Scratch& scratch);
  Part KeptPart(int64_t kept, int64_t index, int64_t rows);
  void ComputePart(const Tile& tile, const CacheLayer& cache, int64_t begin, int64_t end,
                   const Part& part, Scratch& scratch) const;
  void ScorePart(const Tile& tile, const CacheLayer& cache, int64_t begin, int64_t end,
                 Scratch& scratch) const;
  void WeighValues(const Tile& tile, const CacheLayer& cache, int64_t begin, int64_t end,
                   float* part, Scratch& scratch) const;
  void MergePart(const Tile& tile, int64_t begin, const Part& part, Scratch& scratch) const;
  void Finish(const Tile& tile, const CoreOutput& out, const Scratch& scratch) const;

  // Of observed rows: paged_core_statistics_cpu.cc.
  int64_t Visible(const Tile& tile, int64_t row, int64_t begin, int64_t end) const;
  int64_t ObservedIndex(const Tile& tile, int64_t row) const;
  void KeepScores(const Tile& tile, int64_t begin, int64_t end, Scratch& scratch) const;
  void SumScores(const Tile& tile, int64_t begin, int64_t end, const Part& part,
                 Scratch& scratch) const;
  void ReportScores(const Tile& tile, ScoreStatistics* statistics, const Scratch& scratch) const;
  void NegativeMassOfTile(const Tile& tile, const CoreInput& input, const CacheLayer& cache,
                          const AffineWeight* weights, float* mass, Scratch& scratch) const;

  AttentionShape shape_;
  int64_t group_;  // heads that share a key-value head
  int64_t queries_per_tile_;
  const Kernels& kernels_;
  WorkerTeam& team_;
  std::vector<Tile> tiles_;  // these, from step to step, reuse their memory
  std::vector<Span> spans_;
  std::vector<Span> cut_tiles_;   // a whole tile each, whose parts are kept
  std::vector<float> kept_;       // parts' results, [rows, head_dim + 2] each
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace affine
