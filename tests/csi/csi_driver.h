#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/csi_v1.h"
#include "api/pluginregistration_v1.h"
#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "runtime/asio_loop.h"
#include "runtime/files/file_system.h"

namespace porthole::testing {

/// A driver of volumes for tests, written to the specification of CSI 1: its node's half and its registration. A volume is a folder of
/// `storage`, or a file in it on a loop device: for block devices, and where a test has put an ext4 file system into <volume>.img, which is
/// mounted with the options of the request. Refuses what a kubelet must not do, such as publishing what is not staged. Serves from start()
/// until close(). Lives on `loop`.
class CsiDriver {
public:
    struct Options {
        std::string name = "csi.example.com", node_id = "node-1";
        std::string endpoint;      ///< the socket to serve on
        std::string registration;  ///< the socket to register by; "" for none
        std::string storage;       ///< a folder: of several nodes the same
        bool mounts = true;        ///< binds folders and devices, which needs root; else targets are plain folders and files
        std::map<std::string, std::string> topology;
        std::int64_t most_volumes = 0;
        bool attached = false;        ///< a controller attaches volumes: one that is not in `storage` is refused, not made
        bool has_controller = false;  ///< says that there is a controller's half, at a socket of its own
        std::set<api::csi::v1::NodeCapabilityType> capabilities;
        std::vector<std::string> versions{"1.0.0"};
    };
    CsiDriver(AsioLoop& loop, Options options);
    ~CsiDriver();

    Result<void> start();
    Task<> close();

    /// One call as it came: the method, and the request as JSON.
    struct Call {
        std::string method, request;
    };
    std::vector<Call> calls;
    std::multiset<std::string> ended;  ///< methods of the calls that were done, not given up by the caller meanwhile
    std::vector<std::string> told;     ///< by the kubelet: "registered", or why not

    /// What goes wrong, by method ("NodePublishVolume"). In a program also a file of that name in `storage`/switches: "fail 13 text" or
    /// "delay 500", in milliseconds.
    struct Switch {
        net::GrpcStatus failure = net::GrpcStatus::Ok;
        std::string message;
        Duration delay{};
    };
    std::map<std::string, Switch> switches;
    bool is_abnormal = false;  ///< what volumes tell of themselves
    void set_most_volumes(std::int64_t count) { options_.most_volumes = count; }
    std::size_t count(const std::string& method) const;

private:
    template <class Method>
    void serve(const char* name, const Method& method,
               std::function<Result<typename Method::Response>(const typename Method::Request&)> answer);
    Task<> pass(std::string name, std::string request);
    bool has(api::csi::v1::NodeCapabilityType capability) const { return options_.capabilities.contains(capability); }

    Result<api::csi::v1::NodeStageVolumeResponse> stage(const api::csi::v1::NodeStageVolumeRequest& request);
    Result<api::csi::v1::NodeUnstageVolumeResponse> unstage(const api::csi::v1::NodeUnstageVolumeRequest& request);
    Result<api::csi::v1::NodePublishVolumeResponse> publish(const api::csi::v1::NodePublishVolumeRequest& request);
    Result<api::csi::v1::NodeUnpublishVolumeResponse> unpublish(const api::csi::v1::NodeUnpublishVolumeRequest& request);
    Result<api::csi::v1::NodeExpandVolumeResponse> expand(const api::csi::v1::NodeExpandVolumeRequest& request);
    Result<api::csi::v1::NodeGetVolumeStatsResponse> stats(const api::csi::v1::NodeGetVolumeStatsRequest& request);
    Result<void> mount_once(const std::string& to, const std::function<Result<void>()>& mount);
    Result<void> show(const std::string& from, const std::string& to, bool read_only);
    Result<std::string> device_of(const std::string& volume);
    std::string folder_of(const std::string& volume) const { return options_.storage + "/" + volume; }

    AsioLoop& loop_;
    Options options_;
    std::unique_ptr<FileSystem> files_;
    net::GrpcHandler grpc_;
    net::HttpServer server_, registration_;
    std::map<std::string, std::set<std::string>> staged_, published_;  ///< paths by volume
    std::set<std::string> single_writer_;                              ///< volumes that only one path may show
    std::set<std::string> ephemeral_;
    std::map<std::string, std::string> devices_;  ///< loop devices by volume
    std::map<std::string, std::int64_t> sizes_;
};

}  // namespace porthole::testing
