#include "hns/emulator/object_store.h"

#include <algorithm>

#include "base/result.h"
#include "hns/guid.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::hns::emulator {
namespace {

// What stands beside each document in its file.
void write_facts(const Network& network, schema::Value& file) {
    file["number"] = network.number;
    file["adapter"] = network.adapter;
    file["ready"] = network.ready;
    file["managementAddress"] = network.management_address;
}
void write_facts(const Endpoint& endpoint, schema::Value& file) {
    file["number"] = endpoint.number;
    file["onHost"] = endpoint.on_host;
    schema::Array containers;
    for (const std::string& id : endpoint.containers) containers.emplace_back(id);
    file["containers"] = std::move(containers);
}
void write_facts(const Namespace&, schema::Value&) {}
void write_facts(const LoadBalancer& balancer, schema::Value& file) {
    file["number"] = balancer.number;
    file["reservedPorts"] = balancer.reserved_ports;
}
void write_facts(const SdnRoute& route, schema::Value& file) { file["number"] = route.number; }

std::uint32_t number(const schema::Value& file, std::string_view name) {
    return static_cast<std::uint32_t>(schema::at(file, name).int_or(0));
}
std::string text(const schema::Value& file, std::string_view name) { return std::string(schema::at(file, name).string_or("")); }

void read_facts(const schema::Value& file, Network& network) {
    network.number = number(file, "number");
    network.adapter = text(file, "adapter");
    network.ready = schema::at(file, "ready").bool_or(false);
    network.management_address = text(file, "managementAddress");
}
void read_facts(const schema::Value& file, Endpoint& endpoint) {
    endpoint.number = number(file, "number");
    endpoint.on_host = schema::at(file, "onHost").bool_or(false);
    if (const schema::Value* containers = file.find("containers"); containers && containers->is_array()) {
        for (const schema::Value& id : containers->as_array()) endpoint.containers.emplace_back(id.string_or(""));
    }
}
void read_facts(const schema::Value&, Namespace&) {}
void read_facts(const schema::Value& file, LoadBalancer& balancer) {
    balancer.number = number(file, "number");
    balancer.reserved_ports = number(file, "reservedPorts");
    balancer.rehydrated = true;
}
void read_facts(const schema::Value& file, SdnRoute& route) { route.number = number(file, "number"); }

bool is_persistent(const hcn::HostComputeNetwork& network) { return (network.flags & NetworkFlags::EnableNonPersistent) == 0; }

bool survives(const Model&, const Network& network) { return is_persistent(network.document); }
bool survives(const Model& model, const Endpoint& endpoint) {
    const Network* network = find(model.networks, endpoint.document.host_compute_network);
    return network && is_persistent(network->document);
}
template <class T>
bool survives(const Model&, const T&) {
    return true;
}

/// What a proxy finds missing after a power cut, and makes again. There are thousands, and to wait for the disk is most of what one costs.
bool is_made_again(const Endpoint& endpoint) { return is_remote(endpoint.document); }
bool is_made_again(const LoadBalancer&) { return true; }
template <class T>
bool is_made_again(const T&) {
    return false;
}

template <class T>
Result<T> read_object(const std::string& json) {
    TRY(const schema::Value file, schema::parse_json(json));
    T object;
    TRY(object.document, from_tree<decltype(object.document)>(schema::at(file, "document")));
    if (!is_guid(object.document.id)) return Error(Reason::BadRequest, "it has no id");
    read_facts(file, object);
    return object;
}

template <class T>
std::vector<std::string> differing(const Table<T>& before, const Table<T>& after) {
    std::vector<std::string> ids;
    for (const auto& [id, object] : before) {
        const auto found = after.find(id);
        if (found == after.end() || found->second != object) ids.push_back(id);
    }
    for (const auto& [id, object] : after) {
        if (!before.contains(id)) ids.push_back(id);
    }
    return ids;
}

template <class T, class Change>
void change_all(Table<T>& table, Change change) {
    Table<T> changed = table;
    for (const auto& [id, object] : table) {
        T copy = *object;
        if (change(copy)) changed.put(id, std::make_shared<const T>(std::move(copy)));
    }
    table = std::move(changed);
}

}  // namespace

Changes difference(const Model& before, const Model& after) {
    return {differing(before.networks, after.networks), differing(before.endpoints, after.endpoints),
            differing(before.namespaces, after.namespaces), differing(before.load_balancers, after.load_balancers),
            differing(before.routes, after.routes)};
}

void drop_dangling_references(Model& model) {
    erase_if(model.endpoints, [&](const auto& row) { return !find(model.networks, row.second->document.host_compute_network); });
    change_all(model.endpoints, [&](Endpoint& endpoint) {
        const std::string& space = endpoint.document.host_compute_namespace;
        if (space.empty() || find(model.namespaces, space)) return false;
        endpoint.document.host_compute_namespace.clear();
        endpoint.containers.clear();
        return true;
    });
    change_all(model.namespaces, [&](Namespace& space) {
        return std::erase_if(space.document.resources, [&](const hcn::NamespaceResource& resource) {
                   if (resource.type != hcn::NamespaceResourceType::Endpoint) return false;
                   const Endpoint* endpoint = find(model.endpoints, resource.data.id);
                   return !endpoint || endpoint->document.host_compute_namespace != space.document.id;
               }) > 0;
    });
}

Model after_service_restart(const Model& model) {
    Model next = model;
    erase_if(next.networks, [](const auto& row) { return !is_persistent(row.second->document); });
    drop_dangling_references(next);
    change_all(next.load_balancers, [](LoadBalancer& balancer) { return !std::exchange(balancer.rehydrated, true); });
    return next;
}

Model after_reboot(const Model& model) {
    Model next = after_service_restart(model);
    next.namespaces.clear();
    drop_dangling_references(next);
    return next;
}

template <class T>
Result<void> ObjectStore::load_table(const std::string& name, Table<T>& table) {
    const std::string folder = join_path(folder_, name);
    TRY_VOID(files_.create_directories(folder, 0700));
    TRY(const auto names, files_.list(folder));
    for (const std::string& file : names) {
        const std::string path = join_path(folder, file);
        if (!file.ends_with(".json")) {
            TRY_VOID(files_.remove(path));  // half-written when the last one ended
            continue;
        }
        TRY(const std::string json, files_.read(path));
        auto object = read_object<T>(json);
        if (!object) {
            log_.warn("stored object is damaged and left out", {{"file", path}, {"error", object.error().message}});
            continue;
        }
        const std::string id = object->document.id;
        table.put(id, std::make_shared<const T>(*std::move(object)));
    }
    return {};
}

Result<Model> ObjectStore::load() {
    Model model;
    TRY_VOID(load_table("networks", model.networks));
    TRY_VOID(load_table("endpoints", model.endpoints));
    TRY_VOID(load_table("namespaces", model.namespaces));
    TRY_VOID(load_table("load_balancers", model.load_balancers));
    TRY_VOID(load_table("routes", model.routes));
    drop_dangling_references(model);
    return model;
}

template <class T>
Result<void> ObjectStore::save_table(const std::string& name, const Model& model, const Table<T>& table,
                                     const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
        const std::string path = join_path(folder_, name + "/" + id + ".json");
        const T* object = find(table, id);
        if (!object || !survives(model, *object)) {
            if (auto removed = files_.remove(path); !removed && !is_not_found(removed)) return std::move(removed).error();
            continue;
        }
        schema::Value file = schema::Value::object();
        file["document"] = schema::to_value(object->document);
        write_facts(*object, file);
        const std::string json = schema::to_json(file);
        if (is_made_again(*object)) {
            const std::string fresh = path + ".new";
            TRY_VOID(files_.write(fresh, json, 0600));
            TRY_VOID(files_.rename(fresh, path));
        } else {
            TRY_VOID(files_.replace(path, json, 0600));
        }
    }
    return {};
}

Result<void> ObjectStore::save(const Model& model, const Changes& changes) {
    TRY_VOID(save_table("networks", model, model.networks, changes.networks));
    TRY_VOID(save_table("endpoints", model, model.endpoints, changes.endpoints));
    TRY_VOID(save_table("namespaces", model, model.namespaces, changes.namespaces));
    TRY_VOID(save_table("load_balancers", model, model.load_balancers, changes.load_balancers));
    return save_table("routes", model, model.routes, changes.routes);
}

}  // namespace porthole::hns::emulator
