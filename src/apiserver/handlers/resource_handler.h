#pragma once
#include "apiserver/handlers/request_context.h"
#include "apiserver/resources/resource_store.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// The verbs on stored resources and on the subresources whose body is the object itself.
class ResourceHandler {
public:
    ResourceHandler(const schema::Registry& registry, const ResourceTable& resources, ResourceStore& objects, Random& random)
        : registry_(registry), resources_(resources), objects_(objects), random_(random) {}

    /// Answers the request. Errors become Statuses in the caller.
    Task<> handle(RequestContext& context, const Resource& resource);

    /// The parts that subresources with other bodies share.
    WriteRequest write_request(RequestContext& context, const Resource& resource, const WriteOptions& options) const;
    Timestamp now() const { return Timestamp(objects_.clock().wall_now()); }
    const schema::Registry& registry() const { return registry_; }
    const ResourceTable& resources() const { return resources_; }
    ResourceStore& objects() { return objects_; }

private:
    Task<> get(RequestContext& context, const Resource& resource);
    Task<> list(RequestContext& context, const Resource& resource);
    /// The list that `token` continues is gone: says so, with a token for going on in the present.
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
    Random& random_;
};

/// Fits the body's name and namespace to the request's path. Error: BadRequest where they differ.
Result<void> ensure_names_match_request(const RequestInfo& info, const schema::Kind& kind, ApiObject& object);

}  // namespace porthole::apiserver
