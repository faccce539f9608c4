// What must hold of blocks between any two steps.
#pragma once

#include <string>

#include "server/scheduler/block_pool.h"
#include "server/scheduler/scheduler.h"

namespace affine {

/// Empty if all holds, else the first thing that does not: references equal the tables, no block
/// stands twice in a table, running sequences are in order of rank and lack no block, free and used
/// blocks add up, and every findable block's parent is findable.
std::string BrokenBlockInvariant(const BlockPool& pool, const Scheduler& scheduler);

}  // namespace affine
