#include "cmd/bundle/cluster_part.h"

#include <algorithm>

#include "api/core_v1.h"
#include "client/discovery.h"

namespace porthole::cmd::bundle {
namespace {

namespace core = api::core::v1;

constexpr std::int64_t PageSize = 500;
constexpr int MostPages = 40;
constexpr const char* LogLines = "tailLines=5000";

/// What is asked of the server, and of each kubelet below its proxy.
struct Question {
    const char *file, *path, *query;
};
constexpr Question OfServer[] = {{"version.json", "/version", ""},
                                 {"readyz.txt", "/readyz", "verbose"},
                                 {"livez.txt", "/livez", "verbose"},
                                 {"flagz.txt", "/flagz", ""},
                                 {"metrics.txt", "/metrics", ""}};
constexpr Question OfKubelet[] = {{"healthz.txt", "/healthz", ""},
                                  {"configz.json", "/configz", ""},
                                  {"stats.json", "/stats/summary", ""},
                                  {"kubelet.log", "/logs/", "query=kubelet&tailLines=5000"},
                                  {"kube-proxy.log", "/logs/", "query=kube-proxy&tailLines=5000"},
                                  {"containerd.log", "/logs/", "query=containerd&tailLines=5000"}};

Task<> ask(client::Client& client, Writer& writer, std::string file, std::string path, std::string query) {
    const auto answer = co_await client.get_raw(path, std::move(query), "application/json, */*");
    if (is_cancelled(answer)) co_return answer.error();
    if (!answer) {
        writer.note(file, answer.error().message);
        co_return {};
    }
    co_return writer.add_answer(file, **answer);
}

Task<> add_resource(client::Client& client, Writer& writer, client::DiscoveredResourcePtr resource) {
    client::ListOptions options{.limit = PageSize};
    for (int page = 1; page <= MostPages; ++page) {
        const std::string file = "cluster/objects/" + resource->name() + (page == 1 ? "" : "-" + std::to_string(page)) + ".json";
        const auto list = co_await client.list_raw(resource->table, options);
        if (is_cancelled(list)) co_return list.error();
        if (!list) {
            writer.note(file, list.error().message);
            co_return {};
        }
        CO_TRY_VOID(writer.add_object(file, **list));
        const auto slices = schema::parse_json(**list, {.depth = 2 * schema::MaxTreeDepth});
        options.continue_ = slices ? std::string(slices->string_at({"metadata", "continue"})) : "";
        if (options.continue_.empty()) co_return {};
    }
    writer.note("cluster/objects/" + resource->name(), "there are more than " + std::to_string(PageSize * MostPages));
    co_return {};
}

Task<> add_objects(client::Client& client, Writer& writer) {
    const auto served = co_await client::discover(client);
    if (is_cancelled(served)) co_return served.error();
    if (!served) {
        writer.note("cluster/objects", served.error().message);
        co_return {};
    }
    for (const std::string& failure : served->failures) writer.note("cluster/objects", failure);
    for (const auto& resource : served->resources) {
        const bool twice = resource->group == "events.k8s.io";  // those of the core group are the same
        if (resource->has_verb("list") && !twice) CO_TRY_VOID(co_await add_resource(client, writer, resource));
    }
    co_return {};
}

/// The end of the logs of each container of the cluster's own pods.
Task<> add_pod_logs(client::Client& client, Writer& writer) {
    const auto pods = co_await client.list<core::Pod>({.namespace_ = "kube-system"});
    if (is_cancelled(pods)) co_return pods.error();
    if (!pods) co_return {};  // noted with the objects
    for (const core::Pod& pod : pods->items) {
        for (const core::Container& container : pod.spec.containers) {
            const std::string name = pod.metadata.name;
            CO_TRY_VOID(co_await ask(client, writer, "cluster/logs/" + name + "/" + container.name + ".log",
                                     "/api/v1/namespaces/kube-system/pods/" + name + "/log",
                                     std::string(LogLines) + "&container=" + container.name));
        }
    }
    co_return {};
}

}  // namespace

Task<> add_cluster(client::Client& client, Writer& writer) {
    for (const Question& question : OfServer)
        CO_TRY_VOID(co_await ask(client, writer, std::string("cluster/") + question.file, question.path, question.query));
    CO_TRY_VOID(co_await add_objects(client, writer));
    CO_TRY_VOID(co_await add_pod_logs(client, writer));
    const auto nodes = co_await client.list<core::Node>();
    if (is_cancelled(nodes)) co_return nodes.error();
    if (!nodes) co_return {};
    for (const core::Node& node : nodes->items) {
        for (const Question& question : OfKubelet)
            CO_TRY_VOID(co_await ask(client, writer, "nodes/" + node.metadata.name + "/" + question.file,
                                     "/api/v1/nodes/" + node.metadata.name + "/proxy" + question.path, question.query));
    }
    co_return {};
}

}  // namespace porthole::cmd::bundle
