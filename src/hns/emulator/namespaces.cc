#include "hns/emulator/namespaces.h"

#include <set>

#include "hns/guid.h"

namespace porthole::hns::emulator {
namespace {

using Type = hcn::NamespaceType;
constexpr Hresult DefaultNamespaceExists{0x803b0029};

std::uint32_t free_compartment(const Model& model) {
    std::set<std::uint32_t> used;
    for (const auto& [id, space] : model.namespaces) used.insert(space->document.namespace_id);
    std::uint32_t compartment = HostCompartment + 1;
    while (used.contains(compartment)) ++compartment;
    return compartment;
}

hcn::NamespaceResource resource(const char* type, const std::string& id) {
    hcn::NamespaceResource added;
    added.type = type;
    added.data.id = id;
    return added;
}

bool is_resource(const hcn::NamespaceResource& resource, std::string_view type, const std::string& id) {
    return resource.type == type && (resource.data.id == id || same_guid(resource.data.id, id));
}

std::vector<std::string> containers_of(const hcn::HostComputeNamespace& document) {
    std::vector<std::string> ids;
    for (const hcn::NamespaceResource& resource : document.resources) {
        if (resource.type == hcn::NamespaceResourceType::Container) ids.push_back(resource.data.id);
    }
    return ids;
}

/// Endpoints show who shares them.
void share_with_endpoints(Transaction& transaction, const hcn::HostComputeNamespace& document) {
    for (const hcn::NamespaceResource& resource : document.resources) {
        const emulator::Endpoint* found =
            resource.type == hcn::NamespaceResourceType::Endpoint ? find(transaction.model().endpoints, resource.data.id) : nullptr;
        if (!found) continue;
        emulator::Endpoint endpoint = *found;
        endpoint.containers = containers_of(document);
        transaction.put(std::move(endpoint));
    }
}

Result<void> add_container(Transaction& transaction, Namespace space, const std::string& container_id) {
    if (container_id.empty()) return hresult_error(Hresult::InvalidParameter);
    auto& resources = space.document.resources;
    const auto same = [&](const hcn::NamespaceResource& other) {
        return is_resource(other, hcn::NamespaceResourceType::Container, container_id);
    };
    if (std::ranges::any_of(resources, same)) return hresult_error(Hresult::AlreadyExists);
    resources.push_back(resource(hcn::NamespaceResourceType::Container, container_id));
    share_with_endpoints(transaction, space.document);
    transaction.put(std::move(space));
    return {};
}

Result<void> remove_container(Transaction& transaction, Namespace space, const std::string& container_id) {
    const auto same = [&](const hcn::NamespaceResource& other) {
        return is_resource(other, hcn::NamespaceResourceType::Container, container_id);
    };
    if (std::erase_if(space.document.resources, same) == 0) return hresult_error(Hresult::ElementNotFound);
    share_with_endpoints(transaction, space.document);
    transaction.put(std::move(space));
    return {};
}

Result<void> check_type(const Transaction& transaction, hcn::HostComputeNamespace& document) {
    if (document.type.empty()) document.type = Type::Host;
    if (document.type == Type::Guest || document.type == Type::GuestDefault) {
        return hresult_error(Hresult::RequestUnsupported, "Guest namespaces belong to utility VMs, which an emulated host does not have.");
    }
    if (document.type == Type::Host) return {};
    if (document.type != Type::HostDefault)
        return hresult_error(Hresult::InvalidParameter, "The namespace type \"" + document.type + "\" is invalid.");
    for (const auto& [id, other] : transaction.model().namespaces) {
        if (other->document.type == Type::HostDefault) return hresult_error(DefaultNamespaceExists, "A default namespace already exists.");
    }
    return {};
}

}  // namespace

Result<std::string> create_namespace(Transaction& transaction, hcn::HostComputeNamespace document) {
    TRY_VOID(check_type(transaction, document));
    TRY(document.id, id_for(document.id, transaction.host().random));
    if (find(transaction.model().namespaces, document.id)) return hresult_error(Hresult::AlreadyExists);
    const std::vector<hcn::NamespaceResource> resources = std::exchange(document.resources, {});
    document.namespace_id = document.type == Type::HostDefault ? HostCompartment : free_compartment(transaction.model());
    complete_document(document, transaction.host().profile);
    const std::string id = document.id;
    transaction.put(Namespace{std::move(document)});
    transaction.notify(NotificationType::NamespaceCreate, id);
    for (const hcn::NamespaceResource& resource : resources) {
        if (resource.type == hcn::NamespaceResourceType::Endpoint) {
            TRY_VOID(attach_endpoint(transaction, id, resource.data.id));
        } else {
            TRY_VOID(add_container(transaction, *find(transaction.model().namespaces, id), resource.data.id));
        }
    }
    return id;
}

Result<void> modify_namespace(Transaction& transaction, const std::string& id, const hcn::ModifySettingRequest& request) {
    TRY(const Namespace* found, need_namespace(transaction.model(), id));
    const bool add = request.request_type == hcn::ModifyRequestType::Add;
    if (!add && request.request_type != hcn::ModifyRequestType::Remove) return hresult_error(Hresult::RequestUnsupported);
    if (request.resource_type == hcn::ModifyResourceType::Endpoint) {
        TRY(const auto settings, from_tree<hcn::NamespaceEndpointRequest>(request.settings));
        return add ? attach_endpoint(transaction, id, settings.endpoint_id) : detach_endpoint(transaction, id, settings.endpoint_id);
    }
    if (request.resource_type == hcn::ModifyResourceType::Container) {
        TRY(const auto settings, from_tree<hcn::NamespaceContainerRequest>(request.settings));
        return add ? add_container(transaction, *found, settings.container_id)
                   : remove_container(transaction, *found, settings.container_id);
    }
    return hresult_error(Hresult::RequestUnsupported, "Namespaces have no settings of type \"" + request.resource_type + "\".");
}

Result<void> remove_namespace(Transaction& transaction, const std::string& id) {
    TRY(const Namespace* found, need_namespace(transaction.model(), id));
    const hcn::HostComputeNamespace document = found->document;
    for (const hcn::NamespaceResource& resource : document.resources) {
        if (resource.type == hcn::NamespaceResourceType::Endpoint) {
            TRY_VOID(detach_endpoint(transaction, document.id, resource.data.id));
        }
    }
    transaction.erase<Namespace>(document.id);
    transaction.notify(NotificationType::NamespaceDelete, document.id);
    return {};
}

Result<void> attach_endpoint(Transaction& transaction, const std::string& namespace_id, const std::string& endpoint_id) {
    TRY(const Namespace* found_space, need_namespace(transaction.model(), namespace_id));
    TRY(const Endpoint* found, need_endpoint(transaction.model(), endpoint_id));
    Namespace space = *found_space;
    Endpoint endpoint = *found;
    if (is_remote(endpoint.document)) return hresult_error(Hresult::InvalidRemoteEndpointOperation);
    if (endpoint.on_host || endpoint.document.host_compute_namespace == space.document.id)
        return hresult_error(Hresult::EndpointAlreadyAttached);
    if (endpoint.is_attached()) return hresult_error(Hresult::EndpointNamespaceAlreadyExists);
    space.document.resources.push_back(resource(hcn::NamespaceResourceType::Endpoint, endpoint.document.id));
    endpoint.document.host_compute_namespace = space.document.id;
    endpoint.containers = containers_of(space.document);
    transaction.notify(NotificationType::EndpointAttached, endpoint.document.id,
                       schema::Value::object({{"NamespaceID", space.document.id}}));
    transaction.put(std::move(endpoint));
    transaction.put(std::move(space));
    return {};
}

Result<void> detach_endpoint(Transaction& transaction, const std::string& namespace_id, const std::string& endpoint_id) {
    TRY(const Namespace* found_space, need_namespace(transaction.model(), namespace_id));
    const Endpoint* found = find(transaction.model().endpoints, canonical_guid(endpoint_id));
    if (!found || found->document.host_compute_namespace != found_space->document.id) return hresult_error(Hresult::ElementNotFound);
    Namespace space = *found_space;
    Endpoint endpoint = *found;
    std::erase_if(space.document.resources, [&](const hcn::NamespaceResource& resource) {
        return is_resource(resource, hcn::NamespaceResourceType::Endpoint, endpoint.document.id);
    });
    endpoint.document.host_compute_namespace.clear();
    endpoint.containers.clear();
    transaction.notify(NotificationType::EndpointDetached, endpoint.document.id,
                       schema::Value::object({{"NamespaceID", space.document.id}}));
    transaction.put(std::move(endpoint));
    transaction.put(std::move(space));
    return {};
}

const Namespace* find_namespace_of_container(const Model& model, const std::string& container_id) {
    for (const auto& [id, space] : model.namespaces) {
        for (const std::string& container : containers_of(space->document)) {
            if (container == container_id) return space.get();
        }
    }
    return nullptr;
}

}  // namespace porthole::hns::emulator
