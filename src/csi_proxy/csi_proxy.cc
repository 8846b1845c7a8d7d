#include "csi_proxy/csi_proxy.h"

#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {

CsiProxy::CsiProxy(WorkerPool& pool, PathRules paths, Host host) : paths_(std::move(paths)) {
    const GroupContext context{pool, paths_, host};
#define CSI_PROXY_GROUP(name, version) groups_.push_back(make_##name##_group(context, grpc_));
#define CSI_PROXY_ALSO(name, version)
#include "csi_proxy/groups.def"
#undef CSI_PROXY_GROUP
#undef CSI_PROXY_ALSO
}

CsiProxy::~CsiProxy() = default;

Result<void> check_use(const HostUse& use, const PathRules& paths, const std::string& what) {
    if (use.by_windows) return Error(Reason::Forbidden, what + " is of the disk that Windows starts or runs from");
    for (const std::string& path : use.paths)
        if (!paths.check(path))
            return Error(Reason::Forbidden, what + " is in use by the host, as " + path +
                                                "; to give it to drivers, an administrator removes that path (Remove-PartitionAccessPath)");
    return {};
}

std::vector<std::string> CsiProxy::pipes() {
    return {
#define CSI_PROXY_GROUP(name, version) "\\\\.\\pipe\\csi-proxy-" #name "-" #version,
#define CSI_PROXY_ALSO(name, version) CSI_PROXY_GROUP(name, version)
#include "csi_proxy/groups.def"
#undef CSI_PROXY_GROUP
#undef CSI_PROXY_ALSO
    };
}

}  // namespace porthole::csi_proxy
