#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/aggregation/availability.h"
#include "apiserver/aggregation/local_api_services.h"
#include "apiserver/aggregation/remote_discovery.h"
#include "apiserver/aggregation/unavailable_counts.h"
#include "apiserver/handlers/request_context.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "schema/discovery/discovery.h"
#include "schema/openapi/openapi.h"

namespace porthole::apiserver {

/// The aggregation layer: which group versions other servers serve, whether they can be reached, their discovery, and how requests reach
/// them. Follows the APIService objects, writes their condition Available, and maintains the APIServices of this server's own groups
/// (local_api_services.h). Lives on the store's loop; collaborators outlive it. close() it before it is destroyed.
class Aggregator {
public:
    struct Seams {
        EventLoop& loop;
        store::Store& store;
        const schema::Registry& registry;  ///< of this server's own kinds
        OutgoingClients* outgoing = nullptr;
        Random& random;
        Logger log;
        std::function<void()> changed;  ///< called after groups() or documents() has changed
    };
    explicit Aggregator(Seams seams);
    ~Aggregator();

    /// Sets the certificate that is presented to extension servers; see docs/design/identities.md.
    void use_client_certificate(std::string certificate_pem, std::string key_pem);
    /// Reads the objects, without suspending. Error: that of Store::range().
    Result<void> load() { return objects_.load(); }
    /// Creates and corrects the objects of this server's own groups. Requires: load().
    Task<> sync(client::Client& client) { return local_.sync(client); }
    /// Follows the objects, and services and their endpoints. `client` may write APIServices, and outlives close().
    void start(client::Client& client);
    Task<> close();

    /// Called when the registry has changed.
    void local_changed() { local_changed_.set(); }
    /// Whether another server answers requests for the group version.
    bool is_remote(const RequestInfo& info) const { return find_remote(info.group, info.version) != nullptr; }
    /// Requires: is_remote(), and that the request is authorized.
    Task<> handle(RequestContext& context);
    /// Whether another server has the OpenAPI document at this path. A server with OpenAPI version 2 only has none of version 3:
    /// documents() then contains it.
    bool is_remote_document(std::string_view path) const { return find_document(path) != nullptr; }
    /// Requires: is_remote_document(), and that the request is authorized.
    Task<> handle_document(RequestContext& context);
    /// The OpenAPI documents of the servers that can be reached.
    schema::OpenApi::Others documents() const;
    /// The groups for discovery, in the order of their priorities.
    std::vector<schema::DiscoveredGroup> groups() const;
    void append_metrics(std::string& out) const;

private:
    struct Remote;

    /// The APIService that forwards the group version; null if this server serves it, or no server does.
    std::shared_ptr<const APIService> find_remote(std::string_view group, std::string_view version) const;
    std::shared_ptr<const APIService> find_document(std::string_view path) const;
    void object_changed(std::string_view name);
    void settle(const std::string& name);
    Task<> keep_local(client::Client& client);
    Task<> follow_objects();
    /// Checks APIServices again if something below `prefix` has changed in the namespace of their service.
    Task<> follow_services(std::string prefix);
    /// Until the object is deleted, or no longer names a service.
    Task<> look_after(std::shared_ptr<Remote> remote);
    /// Returns when to check again.
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
    UnavailableCounts unavailable_;
    Scope scope_;
};

}  // namespace porthole::apiserver
