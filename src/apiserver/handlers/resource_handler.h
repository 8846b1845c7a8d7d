#pragma once
#include "apiserver/authorization/authorizer.h"
#include "apiserver/handlers/request_context.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/sealed_objects.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// The verbs on stored resources and on the subresources whose body is the object itself. Lives on the store's loop; the seams outlive it.
class ResourceHandler {
public:
    struct Seams {
        const schema::Registry& registry;
        const ResourceTable& resources;
        ResourceStore& objects;
        Authorizer& authorizer;
        Random& random;
        EventLoop& loop;
    };
    explicit ResourceHandler(Seams seams)
        : registry_(seams.registry),
          resources_(seams.resources),
          objects_(seams.objects),
          authorizer_(seams.authorizer),
          random_(seams.random),
          loop_(seams.loop) {}

    /// Answers the request. Errors become Statuses in the caller.
    Task<> handle(RequestContext& context, const Resource& resource);

    /// For a request that has the effect of another verb: whether its user may use that verb too. Error: Forbidden.
    Task<> require_verb(const RequestContext& context, std::string verb);

    /// Shared with subresources that have other bodies.
    WriteRequest write_request(RequestContext& context, const Resource& resource, const WriteOptions& options) const;
    Timestamp now() const { return Timestamp(objects_.clock().wall_now()); }
    const schema::Registry& registry() const { return registry_; }
    const ResourceTable& resources() const { return resources_; }
    ResourceStore& objects() { return objects_; }

private:
    Task<> get(RequestContext& context, const Resource& resource);
    Task<> list(RequestContext& context, const Resource& resource);
    /// The history that `token` continues from is compacted: answers 410, with a token for going on in the present.
    static Task<> refuse_page(RequestContext& context, Error error, std::string token);
    Task<> watch(RequestContext& context, const Resource& resource);
    Task<> create(RequestContext& context, const Resource& resource);
    Task<> update(RequestContext& context, const Resource& resource);
    Task<> patch(RequestContext& context, const Resource& resource);
    Task<> apply(RequestContext& context, const Resource& resource, WriteOptions options);
    Task<> remove(RequestContext& context, const Resource& resource);
    Task<> remove_collection(RequestContext& context, const Resource& resource);

    const schema::Registry& registry_;
    const ResourceTable& resources_;
    ResourceStore& objects_;
    Authorizer& authorizer_;
    Random& random_;
    EventLoop& loop_;
    SealedObjects sealed_;
};

/// Fits the body's name and namespace to the request's path. Error: BadRequest if they differ.
Result<void> ensure_names_match_request(const RequestInfo& info, const schema::Kind& kind, ApiObject& object);

}  // namespace porthole::apiserver
