#pragma once
#include "base/log.h"
#include "hns/client.h"
#include "hns/emulator/emulator.h"
#include "runtime/files/file_system.h"
#include "winhost/host/cni_config.h"
#include "winhost/host/host_programs.h"

namespace porthole::winhost {

/// Where a host keeps CNI's files. Windows paths; the first directory with a configuration is used.
struct CniFolders {
    std::vector<std::string> configurations = {"C:\\k\\cni\\config", "C:\\etc\\cni\\net.d"};
    std::vector<std::string> plugins = {"C:\\k\\cni", "C:\\opt\\cni\\bin"};
};

/// The collaborators of a host's CNI. All outlive it.
struct CniNetworkContext {
    FileSystem& files;
    hns::emulator::Emulator& emulator;
    HostPrograms& programs;
};

/// Pods' networks as a container runtime on Windows creates them: an HNS namespace, and in it whatever the CNI plugins on the host create.
/// Configuration and result of every pod are stored, so that DEL receives the same.
class CniNetwork final : public PodNetwork {
public:
    /// `root` is the host's root file system on Linux; `cache` is a directory for this class only.
    CniNetwork(CniNetworkContext context, std::string root, std::string cache, CniFolders folders = {})
        : context_(context), root_(std::move(root)), cache_(std::move(cache)), folders_(std::move(folders)), hns_(context.emulator) {}

    std::string not_ready() override;
    Task<std::string> create_namespace() override;
    Task<> remove_namespace(std::string namespace_id) override;
    std::string path(const std::string& namespace_id) const override;
    Task<PodAddresses> attach(PodAttachment attachment) override;
    Task<> detach(PodAttachment attachment) override;

private:
    struct Attached {
        CniNetworkConfig network;
        schema::Value result;
    };
    Result<std::string> read_configuration();
    Result<CniNetworkConfig> configuration();
    Result<std::string> find_plugin(const std::string& type);
    Task<std::string> call(std::string command, CniNetworkConfig network, std::size_t plugin, PodAttachment pod, schema::Value previous);
    std::string cache_file(const PodAttachment& pod) const { return join_path(cache_, pod.sandbox_id + ".json"); }
    Result<void> remember(const PodAttachment& pod, const CniNetworkConfig& network, const schema::Value& result);
    Result<Attached> recall(const PodAttachment& pod);

    CniNetworkContext context_;
    std::string root_, cache_;
    CniFolders folders_;
    hns::Client hns_;
};

}  // namespace porthole::winhost
