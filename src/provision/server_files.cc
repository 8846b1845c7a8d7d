#include "provision/server_files.h"

#include "base/strings.h"
#include "local_cluster/description/description_fields.h"
#include "local_cluster/system_unit.h"

namespace porthole::provision {
namespace {

/// A file of the description: its field, its name on the server's machine, and the flag that names it there.
struct CopiedFile {
    const char *field, *name, *flag;
    std::string EtcdOfServers::* source;
};
constexpr const char* TokenFlag = "--server-token-file";
constexpr CopiedFile Copied[] = {
    {"etcdCaFile", "etcd-ca.crt", "--etcd-cafile", &EtcdOfServers::ca_file},
    {"etcdCertFile", "etcd-client.crt", "--etcd-certfile", &EtcdOfServers::certificate_file},
    {"etcdKeyFile", "etcd-client.key", "--etcd-keyfile", &EtcdOfServers::key_file},
    {"serverTokenFile", ServerTokenFile, TokenFlag, &EtcdOfServers::token_file},
};

}  // namespace

std::vector<std::string> server_command(const ControlPlaneDescription& plane, const MachineDescription& host) {
    std::vector<std::string> words = {PORTHOLE_PROGRAM, "server", "--data", PORTHOLE_SERVER_DATA, "--advertise-address", host.ssh.address};
    if (!plane.etcd.urls.empty()) words.insert(words.end(), {"--etcd-servers", join(plane.etcd.urls, ",")});
    for (const CopiedFile& file : Copied)
        if (!(plane.etcd.*file.source).empty()) words.insert(words.end(), {file.flag, std::string(PORTHOLE_SERVER_FILES "/") + file.name});
    if (plane.own_etcd) {
        words.insert(words.end(), {"--etcd-cafile", PORTHOLE_ETCD_FILES "/ca.crt", "--etcd-certfile", PORTHOLE_ETCD_FILES "/client.crt",
                                   "--etcd-keyfile", PORTHOLE_ETCD_FILES "/client.key"});
        if (plane.etcd.token_file.empty()) words.insert(words.end(), {TokenFlag, std::string(PORTHOLE_SERVER_FILES "/") + ServerTokenFile});
    }
    words.insert(words.end(), plane.flags.begin(), plane.flags.end());
    return words;
}

Result<ServerFiles> server_files(FileSystem& files, const ControlPlaneDescription& plane, const MachineDescription& host) {
    constexpr std::size_t Longest = 256 << 10;
    const auto unit = local_cluster::SystemUnit::server(server_command(plane, host));
    ServerFiles found = {{unit.name(), unit.text()}, {"cluster", plane.cluster}, {"networks", plane.networks}};
    for (const CopiedFile& file : Copied) {
        const std::string& source = plane.etcd.*file.source;
        if (source.empty()) continue;
        auto text = files.read(source, Longest);
        if (!text) return local_cluster::wrong(std::string("spec.controlPlane.") + file.field, "cannot be read: " + text.error().message);
        found[file.name] = *std::move(text);
    }
    return found;
}

}  // namespace porthole::provision
