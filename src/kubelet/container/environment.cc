#include "kubelet/container/environment.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

void set(Environment& environment, const std::string& name, std::string value) {
    for (auto& [existing, held] : environment) {
        if (existing != name) continue;
        held = std::move(value);
        return;
    }
    environment.emplace_back(name, std::move(value));
}

/// Since 1.34 any printable ASCII but '=' may be in a variable's name.
bool is_valid_name(const std::string& name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f && c != '='; });
}

/// "my-dns.tcp" → "MY_DNS_TCP"
std::string variable_name(std::string_view name) {
    std::string text = to_upper(name);
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    return text;
}

std::string host_port(const std::string& host, std::int32_t port) {
    const bool ipv6 = host.find(':') != std::string::npos;
    return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

class Builder {
public:
    Builder(const core::Pod& pod, const core::Container& container, const DownwardContext& context, Environment services,
            ObjectSource& objects)
        : pod_(pod), container_(container), context_(context), services_(std::move(services)), objects_(objects) {}

    Task<Environment> build() {
        for (const core::EnvFromSource& from : container_.env_from) CO_TRY_VOID(co_await add_all(from));
        for (const core::EnvVar& variable : container_.env) CO_TRY_VOID(co_await add_one(variable));
        for (const auto& [name, value] : services_)
            if (!find_variable(result_, name)) result_.emplace_back(name, value);
        co_return std::move(result_);
    }

private:
    Task<> add_all(const core::EnvFromSource& from) {
        if (from.config_map_ref) {
            const core::ConfigMapEnvSource& source = *from.config_map_ref;
            auto found = co_await objects_.config_map(pod_.metadata.namespace_, source.name);
            if (!found && is_absent_and_optional(found.error(), source.optional)) co_return {};
            if (!found) co_return std::move(found).error();
            for (const auto& [key, value] : (*found)->data) add_prefixed(from.prefix + key, value);
        }
        if (from.secret_ref) {
            const core::SecretEnvSource& source = *from.secret_ref;
            auto found = co_await objects_.secret(pod_.metadata.namespace_, source.name);
            if (!found && is_absent_and_optional(found.error(), source.optional)) co_return {};
            if (!found) co_return std::move(found).error();
            for (const auto& [key, value] : (*found)->data) add_prefixed(from.prefix + key, value);
        }
        co_return {};
    }

    void add_prefixed(const std::string& name, const std::string& value) {
        if (is_valid_name(name)) set(result_, name, value);
    }

    Task<> add_one(const core::EnvVar& variable) {
        if (!variable.value_from) {
            set(result_, variable.name, expand(variable.value, [this](std::string_view name) { return lookup(name); }));
            co_return {};
        }
        CO_TRY(std::optional<std::string> value, co_await referenced(*variable.value_from));
        if (value) set(result_, variable.name, std::move(*value));
        co_return {};
    }

    Task<std::optional<std::string>> referenced(const core::EnvVarSource& from) {
        if (from.field_ref) co_return optional_of(field_value(pod_, from.field_ref->field_path, context_));
        if (from.resource_field_ref) co_return optional_of(resource_value(pod_, *from.resource_field_ref, container_.name, context_));
        if (from.config_map_key_ref) {
            const core::ConfigMapKeySelector& ref = *from.config_map_key_ref;
            auto found = co_await objects_.config_map(pod_.metadata.namespace_, ref.name);
            if (!found && is_absent_and_optional(found.error(), ref.optional)) co_return std::optional<std::string>();
            if (!found) co_return std::move(found).error();
            co_return key_of((*found)->data, ref.key, ref.optional, "ConfigMap", ref.name);
        }
        if (from.secret_key_ref) {
            const core::SecretKeySelector& ref = *from.secret_key_ref;
            auto found = co_await objects_.secret(pod_.metadata.namespace_, ref.name);
            if (!found && is_absent_and_optional(found.error(), ref.optional)) co_return std::optional<std::string>();
            if (!found) co_return std::move(found).error();
            co_return key_of((*found)->data, ref.key, ref.optional, "Secret", ref.name);
        }
        co_return Error(Reason::BadRequest, "this kind of variable source is not supported by this kubelet");
    }

    Result<std::optional<std::string>> key_of(const std::map<std::string, std::string>& data, const std::string& key,
                                              std::optional<bool> optional, const char* kind, const std::string& name) const {
        const auto found = data.find(key);
        if (found != data.end()) return std::optional(found->second);
        if (optional.value_or(false)) return std::optional<std::string>();
        return Error(Reason::BadRequest, "couldn't find key " + key + " in " + kind + " " + pod_.metadata.namespace_ + "/" + name);
    }

    static Result<std::optional<std::string>> optional_of(Result<std::string> value) {
        if (!value) return std::move(value).error();
        return std::optional<std::string>(std::move(*value));
    }

    static bool is_absent_and_optional(const Error& error, std::optional<bool> optional) {
        return error.reason == Reason::NotFound && optional.value_or(false);
    }

    std::optional<std::string> lookup(std::string_view name) const {
        if (auto own = find_variable(result_, name)) return own;
        return find_variable(services_, name);
    }

    const core::Pod& pod_;
    const core::Container& container_;
    const DownwardContext& context_;
    Environment services_;
    ObjectSource& objects_;
    Environment result_;
};

}  // namespace

std::optional<std::string> find_variable(const Environment& environment, std::string_view name) {
    for (const auto& [existing, value] : environment)
        if (existing == name) return value;
    return std::nullopt;
}

Environment service_environment(const std::vector<std::shared_ptr<const core::Service>>& services) {
    Environment result;
    for (const auto& service : services) {
        const std::string& address = service->spec.cluster_ip;
        if (address.empty() || address == "None" || service->spec.ports.empty()) continue;
        const std::string name = variable_name(service->metadata.name);
        const core::ServicePort& first = service->spec.ports.front();
        set(result, name + "_SERVICE_HOST", address);
        set(result, name + "_SERVICE_PORT", std::to_string(first.port));
        for (const core::ServicePort& port : service->spec.ports)
            if (!port.name.empty()) set(result, name + "_SERVICE_PORT_" + variable_name(port.name), std::to_string(port.port));
        for (const core::ServicePort& port : service->spec.ports) {
            const std::string protocol = port.protocol.empty() ? "TCP" : port.protocol;
            const std::string url = to_lower(protocol) + "://" + host_port(address, port.port);
            const std::string prefix = name + "_PORT_" + std::to_string(port.port) + "_" + variable_name(protocol);
            if (&port == &first) set(result, name + "_PORT", url);
            set(result, prefix, url);
            set(result, prefix + "_PROTO", to_lower(protocol));
            set(result, prefix + "_PORT", std::to_string(port.port));
            set(result, prefix + "_ADDR", address);
        }
    }
    return result;
}

std::vector<std::shared_ptr<const core::Service>> services_for(const core::Pod& pod,
                                                               const std::vector<std::shared_ptr<const core::Service>>& all) {
    std::map<std::string, std::shared_ptr<const core::Service>> chosen;
    for (const auto& service : all) {
        const bool own = service->metadata.namespace_ == pod.metadata.namespace_;
        const bool master = service->metadata.namespace_ == "default" && service->metadata.name == "kubernetes";
        if (own && pod.spec.enable_service_links.value_or(true)) chosen[service->metadata.name] = service;
        if (master) chosen.emplace(service->metadata.name, service);
    }
    std::vector<std::shared_ptr<const core::Service>> result;
    for (auto& [name, service] : chosen) result.push_back(service);
    return result;
}

Task<Environment> make_environment(const core::Pod& pod, const core::Container& container, const DownwardContext& context,
                                   Environment services, ObjectSource& objects) {
    Builder builder(pod, container, context, std::move(services), objects);
    co_return co_await builder.build();
}

std::string expand(std::string_view text, const Lookup& lookup) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char next = text[++i];
        if (next == '$') {
            out += '$';
        } else if (next != '(') {
            (out += '$') += next;
        } else if (const std::size_t end = text.find(')', i); end == std::string_view::npos) {
            out += "$(";
        } else {
            const std::string_view name = text.substr(i + 1, end - i - 1);
            const std::optional<std::string> value = lookup(name);
            out += value ? *value : "$(" + std::string(name) + ")";
            i = end;
        }
    }
    return out;
}

}  // namespace porthole::kubelet
