#include <windows.h>

#include "kubelet/node/node_system.h"

namespace porthole::kubelet {
namespace {

bool has_csi_proxy() {
    constexpr DWORD Shortest = 1;  // milliseconds; 0 would be the server's own
    return ::WaitNamedPipeW(L"\\\\.\\pipe\\csi-proxy-filesystem-v1", Shortest) || ::GetLastError() != ERROR_FILE_NOT_FOUND;
}

}  // namespace

NodeSystem make_node_system(FileSystem& files, ProcessRunner&) {
    return {.host = make_host(files),
            .mounter = make_plain_mounter(files),
            .cgroups = std::make_unique<NoCgroups>(),
            .has_csi_proxy = has_csi_proxy};
}

}  // namespace porthole::kubelet
