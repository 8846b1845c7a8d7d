#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/aggregation/availability.h"
#include "apiserver/aggregation/local_api_services.h"
#include "apiserver/aggregation/remote_discovery.h"
#include "apiserver/handlers/request_context.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "schema/discovery/discovery.h"
#include "schema/openapi/openapi.h"

namespace porthole::apiserver {

/// The aggregation layer: which group versions other servers serve, whether these can be reached, what they serve, and the way of
/// requests to them. Follows the APIService objects, writes their condition Available, and keeps those of what this server serves itself
/// (local_api_services.h). Lives on the store's loop; what it is given outlives it. close() it before it is destroyed.
class Aggregator {
public:
    struct Seams {
        EventLoop& loop;
        store::Store& store;
        const schema::Registry& registry;  ///< what this server serves
        OutgoingClients* outgoing = nullptr;
        Random& random;
        Logger log;
        std::function<void()> changed;  ///< called after groups() or documents() has changed
    };
    explicit Aggregator(Seams seams);
    ~Aggregator();

    /// What extension servers are shown of now on; see docs/design/identities.md.
    void use_client_certificate(std::string certificate_pem, std::string key_pem);
    /// Reads the objects, at once. Error: that of Store::range().
    Result<void> load() { return objects_.load(); }
    /// Creates and corrects the objects of what this server serves. Requires: load().
    Task<> sync(client::Client& client) { return local_.sync(client); }
    /// Follows the objects, and services and their endpoints. `client` may write APIServices, and outlives close().
    void start(client::Client& client);
    Task<> close();

    /// What the registry serves has changed.
    void local_changed() { local_changed_.set(); }
    /// Whether another server answers requests for the group version.
    bool is_remote(const RequestInfo& info) const { return find_remote(info.group, info.version) != nullptr; }
    /// Requires: is_remote(), and that the request is authorized.
    Task<> handle(RequestContext& context);
    /// Whether another server has the document of OpenAPI at this path. One whose OpenAPI is of version 2 only has none of version 3:
    /// documents() then has it.
    bool is_remote_document(std::string_view path) const { return find_document(path) != nullptr; }
    /// Requires: is_remote_document(), and that the request is authorized.
    Task<> handle_document(RequestContext& context);
    /// What the servers that can be reached have of OpenAPI.
    schema::OpenApi::Others documents() const;
    /// What discovery shows, in the order of the priorities.
    std::vector<schema::DiscoveredGroup> groups() const;
    void append_metrics(std::string& out) const;

private:
    struct Remote;

    /// The object that gives the group version away; null when this server serves it, or no one.
    std::shared_ptr<const APIService> find_remote(std::string_view group, std::string_view version) const;
    std::shared_ptr<const APIService> find_document(std::string_view path) const;
    void object_changed(std::string_view name);
    void settle(const std::string& name);
    Task<> keep_local(client::Client& client);
    Task<> follow_objects();
    /// Looks again at those whose services are in a namespace of which something below `prefix` has changed.
    Task<> follow_services(std::string prefix);
    /// Until the object goes, or no longer names a service.
    Task<> look_after(std::shared_ptr<Remote> remote);
    /// Yields when to look again.
    Task<Duration> look(std::shared_ptr<Remote> remote);
    Task<> refresh(std::shared_ptr<Remote> remote, bool available);
    Task<> write_condition(std::shared_ptr<Remote> remote, APIServiceCondition condition);
    void count(const APIService& object, const APIServiceCondition& now);

    Seams seams_;
    const ObjectReader reader_;
    const std::string pseudonym_;
    ExtensionServers servers_;
    Mirror<APIService> objects_;
    LocalApiServices local_;
    Event local_changed_;
    client::Client* client_ = nullptr;  ///< since start()
    std::map<std::string, std::shared_ptr<Remote>, std::less<>> remotes_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> unavailable_;  ///< how often: by name and reason
    Scope scope_;
};

}  // namespace porthole::apiserver
