// csi_windows_driver NAME=VALUE...: the node's half of a driver of volumes for tests, in a container of a Windows node. A volume is a
// folder of the host, which the driver makes and links by the host's CSI proxy, as it has no rights on the host itself. Names: name, node,
// endpoint (a socket), published (the same as the host names it), registration (a socket), storage (a folder of the host), attached
// ("by-controller": it puts attached volumes into `storage`, and no other is made; "as-disks": a volume is the attached disk with its name
// as the serial number).
//
// csi_windows_driver call METHOD PATH [PATH]: one call of the CSI proxy's group filesystem; prints what it answers.
//
// csi_windows_driver ask PIPE METHOD: one call with an empty message by any pipe of the proxy, such as "iscsi-v1alpha1" and
// "/v1alpha1.Iscsi/AddTargetPortal"; prints "answered", or the status and its message.
#include <windows.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/csi_v1.h"
#include "api/csiproxy_v1.h"
#include "api/pluginregistration_v1.h"
#include "base/strings.h"
#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "runtime/run_task.h"
#include "runtime/sync.h"
#include "schema/protobuf/protobuf.h"

using namespace porthole;

namespace {

namespace csi = api::csi::v1;
namespace proxy = api::csiproxy::v1;
namespace registration = api::pluginregistration::v1;
using Words = std::map<std::string, std::string>;

/// The CSI proxy of the host: a pipe for each group of methods.
class Proxy {
public:
    explicit Proxy(AsioLoop& loop) : loop_(loop) {}

    template <class Method>
    Task<typename Method::Response> call(const Method& method, typename Method::Request request) {
        auto reply = co_await channel_of(method.path).call(std::string(method.path), schema::encode_protobuf(request));
        if (!reply) co_return std::move(reply).error().with_context("csi-proxy");
        co_return schema::decode_protobuf<typename Method::Response>(*reply);
    }
    Task<> make(std::string path) {
        CO_TRY_VOID(co_await call(proxy::Filesystem::Mkdir, {.path = std::move(path)}));
        co_return {};
    }
    Task<bool> exists(std::string path) {
        CO_TRY(const auto found, co_await call(proxy::Filesystem::PathExists, {.path = std::move(path)}));
        co_return found.exists;
    }
    Task<> remove(std::string path) {
        CO_TRY(const bool is_there, co_await exists(path));
        if (is_there) CO_TRY_VOID(co_await call(proxy::Filesystem::Rmdir, {.path = std::move(path)}));
        co_return {};
    }
    /// In place of whatever is there.
    Task<> link(std::string to, std::string path) {
        CO_TRY_VOID(co_await remove(path));
        CO_TRY_VOID(co_await call(proxy::Filesystem::CreateSymlink, {.source_path = std::move(to), .target_path = std::move(path)}));
        co_return {};
    }
    Task<> close() {
        for (auto& [group, channel] : channels_) CO_TRY_VOID(co_await channel->close());
        co_return {};
    }

private:
    /// "/v1.Disk/Rescan" is for the group disk.
    net::GrpcChannel& channel_of(std::string_view path) {
        const std::string group = to_lower(path.substr(4, path.rfind('/') - 4));
        auto& channel = channels_[group];
        const std::string pipe = "\\\\.\\pipe\\csi-proxy-" + group + "-v1";
        if (!channel) channel = std::make_unique<net::GrpcChannel>(loop_, net::Endpoint{.unix_path = pipe});
        return *channel;
    }

    AsioLoop& loop_;
    std::map<std::string, std::unique_ptr<net::GrpcChannel>> channels_;
};

/// What drivers of disks do on Windows: a disk of the host is found by its serial number, and has one volume.
class DiskVolumes {
public:
    explicit DiskVolumes(Proxy& proxy) : proxy_(proxy) {}

    Task<> stage(std::string serial, std::string path) {
        CO_TRY(const std::uint32_t disk, co_await find(serial));
        CO_TRY_VOID(co_await proxy_.call(proxy::Disk::PartitionDisk, {.disk_number = disk}));
        CO_TRY(const auto found, co_await proxy_.call(proxy::Volume::ListVolumesOnDisk, {.disk_number = disk}));
        if (found.volume_ids.size() != 1) co_return Error(Reason::Conflict, "the disk has no volume, or several");
        const std::string& volume = found.volume_ids.front();
        CO_TRY(const auto state, co_await proxy_.call(proxy::Volume::IsVolumeFormatted, {.volume_id = volume}));
        if (!state.formatted) CO_TRY_VOID(co_await proxy_.call(proxy::Volume::FormatVolume, {.volume_id = volume}));
        CO_TRY_VOID(co_await proxy_.remove(path));
        CO_TRY_VOID(co_await proxy_.make(path));
        CO_TRY_VOID(co_await proxy_.call(proxy::Volume::MountVolume, {.volume_id = volume, .target_path = path}));
        co_return {};
    }
    Task<> unstage(std::string path) {
        CO_TRY(const bool is_there, co_await proxy_.exists(path));
        if (!is_there) co_return {};
        CO_TRY(const auto link, co_await proxy_.call(proxy::Filesystem::IsSymlink, {.path = path}));
        if (link.is_symlink) {
            CO_TRY(const std::string volume, co_await volume_at(path));
            CO_TRY_VOID(co_await proxy_.call(proxy::Volume::WriteVolumeCache, {.volume_id = volume}));
            CO_TRY_VOID(co_await proxy_.call(proxy::Volume::UnmountVolume, {.volume_id = volume, .target_path = path}));
        }
        co_return co_await proxy_.remove(path);
    }
    /// As large as its disk.
    Task<> expand(std::string path) {
        CO_TRY_VOID(co_await proxy_.call(proxy::Disk::Rescan, {}));
        CO_TRY(const std::string volume, co_await volume_at(path));
        CO_TRY_VOID(co_await proxy_.call(proxy::Volume::ResizeVolume, {.volume_id = volume}));
        co_return {};
    }
    Task<csi::NodeGetVolumeStatsResponse> stats(std::string path) {
        CO_TRY(const std::string volume, co_await volume_at(path));
        CO_TRY(const auto found, co_await proxy_.call(proxy::Volume::GetVolumeStats, {.volume_id = volume}));
        csi::NodeGetVolumeStatsResponse response;
        auto& usage = response.usage.emplace_back();
        usage.unit = csi::VolumeUsageUnit::Bytes;
        usage.total = found.total_bytes;
        usage.used = found.used_bytes;
        usage.available = found.total_bytes - found.used_bytes;
        co_return response;
    }

private:
    Task<std::uint32_t> find(std::string serial) {
        CO_TRY_VOID(co_await proxy_.call(proxy::Disk::Rescan, {}));
        CO_TRY(const auto disks, co_await proxy_.call(proxy::Disk::ListDiskIDs, {}));
        for (const auto& disk : disks.disk_ids)
            if (disk.value.serial_number == serial) co_return disk.key;
        co_return net::error_of_grpc(net::GrpcStatus::FailedPrecondition, "the volume is not attached to this node");
    }
    Task<std::string> volume_at(std::string path) {
        CO_TRY(const auto found, co_await proxy_.call(proxy::Volume::GetVolumeIDFromTargetPath, {.target_path = std::move(path)}));
        co_return found.volume_id;
    }

    Proxy& proxy_;
};

class Driver {
public:
    Driver(AsioLoop& loop, Words words)
        : proxy_(loop),
          words_(std::move(words)),
          server_(loop, grpc_, {}, Logger(make_null_sink(), "driver")),
          registration_(loop, grpc_, {}, Logger(make_null_sink(), "driver")) {
        add(registration::Registration::GetInfo, [this](auto) { return introduce(); });
        add(registration::Registration::NotifyRegistrationStatus, [](auto request) { return told(std::move(request)); });
        add(csi::Identity::GetPluginInfo, [this](auto) { return describe(); });
        add(csi::Identity::Probe, [](auto) { return nothing<csi::ProbeResponse>(); });
        add(csi::Node::NodeGetInfo, [this](auto) { return node(); });
        add(csi::Node::NodeGetCapabilities, [this](auto) { return capabilities(); });
        add(csi::Node::NodeExpandVolume, [this](auto request) { return expand(std::move(request)); });
        add(csi::Node::NodeGetVolumeStats, [this](auto request) { return disks_.stats(std::move(request.volume_path)); });
        add(csi::Node::NodeStageVolume, [this](auto request) { return stage(std::move(request)); });
        add(csi::Node::NodeUnstageVolume, [this](auto request) { return unstage(std::move(request)); });
        add(csi::Node::NodePublishVolume, [this](auto request) { return publish(std::move(request)); });
        add(csi::Node::NodeUnpublishVolume, [this](auto request) { return unpublish(std::move(request)); });
    }
    Result<void> start() {
        TRY_VOID(server_.listen_unix(words_["endpoint"]));
        return registration_.listen_unix(words_["registration"]);
    }
    Task<> close() {
        CO_TRY_VOID(co_await registration_.close());
        CO_TRY_VOID(co_await server_.close());
        co_return co_await proxy_.close();
    }

private:
    template <class Method>
    void add(const Method& method, std::function<Task<typename Method::Response>(typename Method::Request)> answer) {
        grpc_.add(std::string(method.path),
                  [answer = std::move(answer)](std::string bytes) { return run<Method>(answer, std::move(bytes)); });
    }
    template <class Method>
    static Task<std::string> run(std::function<Task<typename Method::Response>(typename Method::Request)> answer, std::string bytes) {
        CO_TRY(auto request, schema::decode_protobuf<typename Method::Request>(bytes));
        CO_TRY(const auto response, co_await answer(std::move(request)));
        co_return schema::encode_protobuf(response);
    }
    template <class Response>
    static Task<Response> nothing() {
        co_return Response();
    }

    Task<registration::PluginInfo> introduce() {
        registration::PluginInfo info;
        info.type = "CSIPlugin";
        info.name = words_["name"];
        info.endpoint = words_["published"];
        info.supported_versions = {"1.0.0"};
        co_return info;
    }
    static Task<registration::RegistrationStatusResponse> told(registration::RegistrationStatus status) {
        std::printf("%s\n", status.plugin_registered ? "registered" : status.error.c_str());
        std::fflush(stdout);
        co_return registration::RegistrationStatusResponse();
    }
    Task<csi::GetPluginInfoResponse> describe() {
        csi::GetPluginInfoResponse info;
        info.name = words_["name"];
        info.vendor_version = "1";
        co_return info;
    }
    Task<csi::NodeGetInfoResponse> node() {
        csi::NodeGetInfoResponse info;
        info.node_id = words_["node"];
        co_return info;
    }
    bool has_disks() const { return words_.contains("attached") && words_.at("attached") == "as-disks"; }
    Task<csi::NodeGetCapabilitiesResponse> capabilities() {
        using Type = csi::NodeCapabilityType;
        csi::NodeGetCapabilitiesResponse response;
        std::vector<Type> types = {Type::StageUnstageVolume};
        if (has_disks()) types = {Type::StageUnstageVolume, Type::GetVolumeStats, Type::ExpandVolume};
        for (const Type type : types) response.capabilities.emplace_back().rpc.emplace().type = type;
        co_return response;
    }
    Task<csi::NodeExpandVolumeResponse> expand(csi::NodeExpandVolumeRequest request) {
        CO_TRY_VOID(co_await disks_.expand(std::move(request.volume_path)));
        co_return csi::NodeExpandVolumeResponse();
    }
    Task<csi::NodeStageVolumeResponse> stage(csi::NodeStageVolumeRequest request) {
        if (has_disks()) {
            CO_TRY_VOID(co_await disks_.stage(std::move(request.volume_id), std::move(request.staging_target_path)));
            co_return csi::NodeStageVolumeResponse();
        }
        const std::string folder = words_["storage"] + "\\" + request.volume_id;
        CO_TRY(const bool is_there, co_await proxy_.exists(folder));
        if (!is_there && words_.contains("attached"))
            co_return net::error_of_grpc(net::GrpcStatus::FailedPrecondition, "the volume is not attached to this node");
        if (!is_there) CO_TRY_VOID(co_await proxy_.make(folder));
        CO_TRY_VOID(co_await proxy_.link(folder, request.staging_target_path));
        co_return csi::NodeStageVolumeResponse();
    }
    Task<csi::NodeUnstageVolumeResponse> unstage(csi::NodeUnstageVolumeRequest request) {
        Task<> work = has_disks() ? disks_.unstage(request.staging_target_path) : proxy_.remove(request.staging_target_path);
        CO_TRY_VOID(co_await std::move(work));
        co_return csi::NodeUnstageVolumeResponse();
    }
    Task<csi::NodePublishVolumeResponse> publish(csi::NodePublishVolumeRequest request) {
        CO_TRY_VOID(co_await proxy_.link(request.staging_target_path, request.target_path));
        co_return csi::NodePublishVolumeResponse();
    }
    Task<csi::NodeUnpublishVolumeResponse> unpublish(csi::NodeUnpublishVolumeRequest request) {
        CO_TRY_VOID(co_await proxy_.remove(request.target_path));
        co_return csi::NodeUnpublishVolumeResponse();
    }

    Proxy proxy_;
    DiskVolumes disks_{proxy_};
    Words words_;
    net::GrpcHandler grpc_;
    net::HttpServer server_, registration_;
};

std::atomic<AsioLoop*> running_loop = nullptr;
Event* stop_wanted = nullptr;  ///< of the loop

/// A container is stopped by a control event; the program ends when this returns, or when main does.
BOOL WINAPI on_control(DWORD) {
    constexpr DWORD Grace = 10'000;  // milliseconds
    if (AsioLoop* loop = running_loop) loop->post([] { stop_wanted->set(); });
    Sleep(Grace);
    return TRUE;
}

Task<> serve(AsioLoop& loop, Driver& driver) {
    Event stop;
    stop_wanted = &stop;
    running_loop = &loop;
    SetConsoleCtrlHandler(on_control, TRUE);
    CO_TRY_VOID(co_await stop.wait());
    co_return co_await driver.close();
}

Task<std::string> ask(Proxy& proxy, std::string method, std::string path, std::string other) {
    using Filesystem = proxy::Filesystem;
    const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
    if (method == "PathExists") {
        CO_TRY(const auto found, co_await proxy.call(Filesystem::PathExists, {.path = path}));
        co_return text(found.exists);
    }
    if (method == "IsSymlink") {
        CO_TRY(const auto found, co_await proxy.call(Filesystem::IsSymlink, {.path = path}));
        co_return text(found.is_symlink);
    }
    if (method == "Mkdir") CO_TRY_VOID(co_await proxy.call(Filesystem::Mkdir, {.path = path}));
    if (method == "Rmdir") CO_TRY_VOID(co_await proxy.call(Filesystem::Rmdir, {.path = path, .force = other == "force"}));
    if (method == "RmdirContents") CO_TRY_VOID(co_await proxy.call(Filesystem::RmdirContents, {.path = path}));
    if (method == "CreateSymlink") CO_TRY_VOID(co_await proxy.call(Filesystem::CreateSymlink, {.source_path = path, .target_path = other}));
    co_return std::string("done");
}

int call(AsioLoop& loop, const std::string& method, const std::string& path, const std::string& other) {
    Proxy proxy(loop);
    const auto answer = run_task(loop, ask(proxy, method, path, other));
    std::printf("%s\n", answer ? answer->c_str() : answer.error().message.c_str());
    (void)run_task(loop, proxy.close());
    return answer ? 0 : 1;
}

int ask(AsioLoop& loop, const std::string& pipe, const std::string& method) {
    net::GrpcChannel channel(loop, net::Endpoint{.unix_path = "\\\\.\\pipe\\csi-proxy-" + pipe});
    const auto answer = run_task(loop, channel.call(method, ""));
    if (answer)
        std::printf("answered\n");
    else
        std::printf("%d %s\n", static_cast<int>(net::grpc_status_of(answer.error())), answer.error().message.c_str());
    (void)run_task(loop, channel.close());
    return answer ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    AsioLoop loop;
    if (count > 3 && std::string(words[1]) == "call") return call(loop, words[2], words[3], count > 4 ? words[4] : "");
    if (count == 4 && std::string(words[1]) == "ask") return ask(loop, words[2], words[3]);
    Words given;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const std::size_t equals = word.find('=');
        if (equals != word.npos) given[word.substr(0, equals)] = word.substr(equals + 1);
    }
    Driver driver(loop, given);
    if (const auto started = driver.start(); !started) {
        std::printf("csi_windows_driver: %s\n", started.error().message.c_str());
        return 1;
    }
    return run_task(loop, serve(loop, driver)) ? 0 : 1;
}
