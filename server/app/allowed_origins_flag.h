// --allowed_origins: which web pages' scripts may call.
#pragma once

#include "server/app/flag.h"

namespace affine {

/// ORIGIN,..., each "*" or a scheme, a host and perhaps a port, as browsers send it.
Flag AllowedOriginsFlag();

}  // namespace affine
