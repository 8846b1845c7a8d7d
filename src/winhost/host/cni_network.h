#pragma once
#include "base/log.h"
#include "hns/client.h"
#include "hns/emulator/emulator.h"
#include "runtime/files/file_system.h"
#include "winhost/host/cni_config.h"
#include "winhost/host/host_programs.h"

namespace porthole::winhost {

/// Where a host keeps what CNI needs. Windows paths; the first folder with a configuration counts.
struct CniFolders {
    std::vector<std::string> configurations = {"C:\\k\\cni\\config", "C:\\etc\\cni\\net.d"};
    std::vector<std::string> plugins = {"C:\\k\\cni", "C:\\opt\\cni\\bin"};
};

/// What CNI of a host runs on. All outlive it.
struct CniNetworkContext {
    FileSystem& files;
    hns::emulator::Emulator& emulator;
    HostPrograms& programs;
};

/// Pods' networks as a container runtime on Windows makes them: a namespace of the host network service, and in it whatever the CNI
/// plugins that are installed on the host do. Configuration and result of every pod are kept, so that DEL gets the same again.
class CniNetwork final : public PodNetwork {
public:
    /// `root` is the host's root file system on Linux; `cache` a folder of its own.
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
