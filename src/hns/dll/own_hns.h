#pragma once
#include <memory>

#include "hns/dll/load_hns.h"

namespace porthole::hns {

/// The host network service of this machine; where there is none, every call answers why.
std::unique_ptr<Hns> own_hns(EventLoop& loop, WorkerPool& pool);

}  // namespace porthole::hns
