#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "api/dra_v1.h"
#include "api/pluginregistration_v1.h"
#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "runtime/asio_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/sync.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::kubelet::testing {

/// A program of the node that registers as a plugin by a socket, and a driver of devices. Serves from construction until close().
class FakePlugin {
public:
    FakePlugin(AsioLoop& loop, std::string socket, std::string name, std::vector<std::string> versions = {"v1.DRAPlugin"})
        : name(std::move(name)), server_(loop, grpc_, {}, Logger(make_null_sink(), "plugin")) {
        info.type = "DRAPlugin";
        info.name = this->name;
        info.supported_versions = versions;
        serve<api::pluginregistration::v1::InfoRequest>("/pluginregistration.Registration/GetInfo", [this](auto) {
            ++asked;
            return info;
        });
        serve<api::pluginregistration::v1::RegistrationStatus>("/pluginregistration.Registration/NotifyRegistrationStatus",
                                                               [this](api::pluginregistration::v1::RegistrationStatus status) {
                                                                   told.push_back(status.plugin_registered ? "registered" : status.error);
                                                                   return api::pluginregistration::v1::RegistrationStatusResponse();
                                                               });
        for (const char* version : {"v1", "v1beta1"}) {
            const std::string service = std::string("/k8s.io.kubelet.pkg.apis.dra.") + version + ".DRAPlugin/";
            if (std::ranges::find(versions, std::string(version) + ".DRAPlugin") == versions.end()) continue;
            serve<api::dra::v1::NodePrepareResourcesRequest>(service + "NodePrepareResources",
                                                             [this, version](auto request) { return prepare(request, version); });
            serve<api::dra::v1::NodeUnprepareResourcesRequest>(service + "NodeUnprepareResources",
                                                               [this](auto request) { return unprepare(request); });
        }
        grpc_.add_streaming("/v1alpha1.DRAResourceHealth/NodeWatchResources",
                            [this](std::string, net::GrpcWriter& writer) { return tell_health(writer); });
        EXPECT_TRUE(server_.listen_unix(socket));
    }
    Task<> close() { return server_.close(); }

    const std::string name;
    api::pluginregistration::v1::PluginInfo info;
    int asked = 0;
    std::vector<std::string> told;                    ///< "registered", or why not
    std::vector<std::string> calls;                   ///< "prepare c (v1)", "unprepare c"
    std::string failure;                              ///< of each claim; "" for none
    std::size_t devices = 1;                          ///< of each claim
    api::dra::v1::NodeWatchResourcesResponse health;  ///< told when health_changed is set
    Event health_changed;
    bool ends_telling = false;

private:
    template <class Request, class Answer>
    void serve(const std::string& method, Answer answer) {
        grpc_.add(method, [answer](std::string request) -> Task<std::string> {
            return answered(schema::encode_protobuf(answer(schema::decode_protobuf<Request>(request).value())));
        });
    }
    Task<> tell_health(net::GrpcWriter& writer) {
        for (bool first = true; first || !ends_telling;) {
            health_changed.reset();
            if (!first || !health.devices.empty()) CO_TRY_VOID(co_await writer.write(schema::encode_protobuf(health)));
            first = false;
            CO_TRY_VOID(co_await health_changed.wait());
        }
        co_return {};
    }
    static Task<std::string> answered(std::string text) { co_return text; }

    api::dra::v1::NodePrepareResourcesResponse prepare(const api::dra::v1::NodePrepareResourcesRequest& request, const char* version) {
        api::dra::v1::NodePrepareResourcesResponse response;
        for (const auto& claim : request.claims) {
            calls.push_back("prepare " + claim.name + " (" + version + ")");
            auto& answer = response.claims[claim.uid];
            answer.error = failure;
            if (!failure.empty()) continue;
            for (std::size_t i = 0; i < devices; ++i) {
                auto& device = answer.devices.emplace_back();
                device.pool_name = "pool";
                device.device_name = "d" + std::to_string(i);
                device.request_names = {"r" + std::to_string(i)};
                device.cdi_device_ids = {name + "/device=" + claim.name + "-" + std::to_string(i)};
            }
        }
        return response;
    }
    api::dra::v1::NodeUnprepareResourcesResponse unprepare(const api::dra::v1::NodeUnprepareResourcesRequest& request) {
        api::dra::v1::NodeUnprepareResourcesResponse response;
        for (const auto& claim : request.claims) {
            calls.push_back("unprepare " + claim.name);
            response.claims[claim.uid].error = failure;
        }
        return response;
    }

    net::GrpcHandler grpc_;
    net::HttpServer server_;
};

/// A temporary directory; removed at the end.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const char* name) : path("/tmp/porthole-" + std::string(name) + "-" + std::to_string(::getpid())) {
        EXPECT_TRUE(files->remove_all(path));
        EXPECT_TRUE(files->create_directories(path, 0700));
    }
    ~TemporaryFolder() { EXPECT_TRUE(files->remove_all(path)); }
    std::unique_ptr<FileSystem> files = make_file_system();
    const std::string path;
};

}  // namespace porthole::kubelet::testing
