// What a driver in a container sends: the first byte chooses the method, the rest is the message. Nothing outside the kubelet's directory
// may change, and no link may be followed.
#include <cstdint>
#include <cstdlib>

#include "api/csiproxy_v1.h"
#include "csi_proxy/memory_host_fixture.h"

using namespace porthole;
using namespace porthole::csi_proxy;
using namespace porthole::api::csiproxy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    testing::MemoryHost host;
    if (!host.drive.write("C:\\Windows\\kept", "kept", 0644)) std::abort();
    if (!host.drive.create_symlink("C:\\Windows", "C:\\k\\pods\\out")) std::abort();
    const std::string_view methods[] = {v1::Filesystem::PathExists.path,
                                        v1::Filesystem::Mkdir.path,
                                        v1::Filesystem::Rmdir.path,
                                        v1::Filesystem::RmdirContents.path,
                                        v1::Filesystem::CreateSymlink.path,
                                        v1::Filesystem::IsSymlink.path,
                                        v1::Disk::PartitionDisk.path,
                                        v1::Disk::SetDiskState.path,
                                        v1::Volume::MountVolume.path,
                                        v1::Volume::ResizeVolume.path,
                                        v1::Volume::GetVolumeIDFromTargetPath.path,
                                        v1::Smb::NewSmbGlobalMapping.path,
                                        v1alpha1::System::StopService.path};
    const auto* unary = host.proxy.handler().find(std::string(methods[data[0] % std::size(methods)]));
    if (!unary) std::abort();
    (void)sim::run(host.loop, (*unary)(std::string(reinterpret_cast<const char*>(data) + 1, size - 1)));
    if (host.drive.list("C:").value_or(std::vector<std::string>()) != std::vector<std::string>{"k", "windows"}) std::abort();
    if (host.drive.list("C:\\Windows").value_or(std::vector<std::string>()) != std::vector<std::string>{"kept"}) std::abort();
    for (const std::string& note : host.host.notes)
        if (const auto at = note.find(" at "); at != note.npos && !to_lower(note.substr(at + 4)).starts_with("c:\\k\\")) std::abort();
    return 0;
}
