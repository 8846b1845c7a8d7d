#include "hns/dll/load_hns.h"

namespace porthole::hns {

Result<std::unique_ptr<Hns>> load_hns(EventLoop&, WorkerPool&) {
    return Error(Reason::NotFound, "the host network service is part of Windows and not available on this system");
}

}  // namespace porthole::hns
