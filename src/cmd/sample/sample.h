#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::cmd::sample {

namespace core = api::core::v1;
namespace apps = api::apps::v1;

/// Of `porthole sample web`: services and deployments in YAML.
std::string_view web_manifest();

/// A sample in one namespace of a cluster: creates its objects, waits for its pods, and removes it.
class Sample {
public:
    using Told = std::function<void(const std::string& line)>;
    /// `loop` and `client` outlive this. Error: BadRequest for a manifest with anything but services and deployments.
    static Result<Sample> read(EventLoop& loop, client::Client& client, std::string_view manifest, const std::string& namespace_,
                               Told told);

    /// Reports a line for each object: a deployment is created if a Ready node has the labels that it selects, and updated to the manifest
    /// if it exists. Error: NotFound if no node can run any.
    Task<> apply();
    /// Reports a line for each deployment of apply() once its pods are ready. Error: Timeout, with what a pod waits for.
    Task<> wait_until_ready(Duration patience);
    /// Commands to inspect it, one per line, below a heading. Requires: apply() has succeeded.
    Task<std::string> ways_to_look();
    /// Reports a line for each removed object.
    Task<> remove();

private:
    Sample(EventLoop& loop, client::Client& client, std::string namespace_, Told told)
        : loop_(loop), client_(client), namespace_(std::move(namespace_)), told_(std::move(told)) {}
    Task<> leave_out_what_no_node_can_run();
    template <class T>
    Task<> make(T object);
    template <class T>
    Task<> remove_one(std::string name);
    Task<std::string> trouble_of(std::string deployment);

    EventLoop& loop_;
    client::Client& client_;
    std::string namespace_;
    Told told_;
    std::vector<core::Service> services_;
    std::vector<apps::Deployment> deployments_;
};

}  // namespace porthole::cmd::sample
