#include "hns/dll/load_hns.h"

namespace porthole::hns {

Result<std::unique_ptr<Hns>> load_hns(EventLoop&, WorkerPool&) {
    return Error(Reason::NotFound, "this system has no host network service: that is a part of Windows");
}

}  // namespace porthole::hns
