#pragma once
#include <memory>

#include "hns/hns.h"
#include "runtime/worker_pool.h"

namespace porthole::hns {

/// The host network service of the Windows that this runs on. Calls block a worker each, one after the other; `loop` and `pool` outlive it.
/// Errors: NotFound if computenetwork.dll cannot be loaded (and always elsewhere than on Windows). A function that the DLL lacks
/// fails with Hresult::NotImplemented when it is called, and names it.
Result<std::unique_ptr<Hns>> load_hns(EventLoop& loop, WorkerPool& pool);

/// The host network service of this machine; if there is none, every call fails with the reason. As load_hns() otherwise.
std::unique_ptr<Hns> own_hns(EventLoop& loop, WorkerPool& pool);

}  // namespace porthole::hns
