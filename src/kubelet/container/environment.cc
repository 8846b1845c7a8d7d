#include "kubelet/container/environment.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

/// Variables in the order of definition. A config map has room for a hundred thousand, so that names are looked up.
class Variables {
public:
    void set(const std::string& name, std::string value) {
        const auto [place, is_new] = places_.emplace(name, variables_.size());
        if (is_new) {
            bytes_ += name.size() + value.size();
            variables_.emplace_back(name, std::move(value));
            return;
        }
        std::string& held = variables_[place->second].second;
        bytes_ += value.size() - held.size();
        held = std::move(value);
    }
    const std::string* find(std::string_view name) const {
        const auto found = places_.find(std::string(name));
        return found == places_.end() ? nullptr : &variables_[found->second].second;
    }
    /// Error: BadRequest if there is no room for them.
    Result<void> check_size() const {
        if (bytes_ <= MaxEnvironmentBytes) return {};
        return Error(Reason::BadRequest, "environment variables take more than " + std::to_string(MaxEnvironmentBytes) + " bytes");
    }
    Environment take() { return std::move(variables_); }

private:
    Environment variables_;
    std::unordered_map<std::string, std::size_t> places_;
    std::size_t bytes_ = 0;  ///< of names and values
};

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
        for (const core::EnvFromSource& from : container_.env_from) {
            CO_TRY_VOID(co_await add_all(from));
            CO_TRY_VOID(result_.check_size());
        }
        for (const core::EnvVar& variable : container_.env) {
            CO_TRY_VOID(co_await add_one(variable));
            CO_TRY_VOID(result_.check_size());
        }
        for (const auto& [name, value] : services_)
            if (!result_.find(name)) result_.set(name, value);
        co_return result_.take();
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
        if (is_valid_name(name)) result_.set(name, value);
    }

    Task<> add_one(const core::EnvVar& variable) {
        if (!variable.value_from) {
            CO_TRY(std::string expanded, expand(variable.value, [this](std::string_view name) { return lookup(name); }));
            result_.set(variable.name, std::move(expanded));
            co_return {};
        }
        CO_TRY(std::optional<std::string> value, co_await referenced(*variable.value_from));
        if (value) result_.set(variable.name, std::move(*value));
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

    const std::string* lookup(std::string_view name) const {
        const std::string* own = result_.find(name);
        return own ? own : services_by_name_.find(name);
    }

    const core::Pod& pod_;
    const core::Container& container_;
    const DownwardContext& context_;
    const Environment services_;
    const VariablesByName services_by_name_{services_};
    ObjectSource& objects_;
    Variables result_;
};

}  // namespace

Environment service_environment(const std::vector<std::shared_ptr<const core::Service>>& services) {
    Variables result;
    for (const auto& service : services) {
        const std::string& address = service->spec.cluster_ip;
        if (address.empty() || address == "None" || service->spec.ports.empty()) continue;
        const std::string name = variable_name(service->metadata.name);
        const core::ServicePort& first = service->spec.ports.front();
        result.set(name + "_SERVICE_HOST", address);
        result.set(name + "_SERVICE_PORT", std::to_string(first.port));
        for (const core::ServicePort& port : service->spec.ports)
            if (!port.name.empty()) result.set(name + "_SERVICE_PORT_" + variable_name(port.name), std::to_string(port.port));
        for (const core::ServicePort& port : service->spec.ports) {
            const std::string protocol = port.protocol.empty() ? "TCP" : port.protocol;
            const std::string url = to_lower(protocol) + "://" + host_port(address, port.port);
            const std::string prefix = name + "_PORT_" + std::to_string(port.port) + "_" + variable_name(protocol);
            if (&port == &first) result.set(name + "_PORT", url);
            result.set(prefix, url);
            result.set(prefix + "_PROTO", to_lower(protocol));
            result.set(prefix + "_PORT", std::to_string(port.port));
            result.set(prefix + "_ADDR", address);
        }
    }
    return result.take();
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

Result<std::string> expand(std::string_view text, const Lookup& lookup, std::size_t most) {
    std::string out;
    bool closes = true;  // as far as is known: looking for the same end again and again takes quadratic time
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char next = text[++i];
        if (next != '(') {
            out += '$';
            if (next != '$') out += next;
            continue;
        }
        const std::size_t end = closes ? text.find(')', i) : std::string_view::npos;
        if (end == std::string_view::npos) {
            closes = false;
            out += "$(";
            continue;
        }
        const std::string_view name = text.substr(i + 1, end - i - 1);
        if (const std::string* value = lookup(name))
            out += *value;
        else
            out.append("$(").append(name).append(")");
        if (out.size() > most) return Error(Reason::BadRequest, "variables expand to more than " + std::to_string(most) + " bytes");
        i = end;
    }
    return out;
}

}  // namespace porthole::kubelet
