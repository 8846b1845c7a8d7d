#include "client/kubeconfig.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "base/base64.h"
#include "base/result.h"
#include "schema/yaml/yaml.h"

namespace porthole::client {
namespace {

using schema::Value;

constexpr std::array<const char*, 3> Sections = {"clusters", "users", "contexts"};

/// The entry of `section` called `name`; nullptr where there is none.
const Value* find_entry(const Value& document, const char* section, std::string_view name) {
    const Value* entries = document.find(section);
    if (!entries || !entries->is_array()) return nullptr;
    for (const Value& entry : entries->as_array())
        if (entry.string_at({"name"}) == name) return &entry;
    return nullptr;
}

Value& ensure_section(Value& document, const char* section) {
    Value& entries = document[section];
    if (!entries.is_array()) entries = Value::array();
    return entries;
}

void put_entry(Value& document, const char* section, Value entry) {
    auto& entries = ensure_section(document, section).as_array();
    for (Value& present : entries) {
        if (present.string_at({"name"}) != entry.string_at({"name"})) continue;
        present = std::move(entry);
        return;
    }
    entries.push_back(std::move(entry));
}

bool erase_entry(Value& document, const char* section, std::string_view name) {
    Value* entries = document.find(section);
    if (!entries || !entries->is_array()) return false;
    return std::erase_if(entries->as_array(), [&](const Value& entry) { return entry.string_at({"name"}) == name; }) > 0;
}

Error malformed(const std::string& what) { return Error(Reason::BadRequest, "kubeconfig: " + what); }

/// Named things with a body of the name in the singular ("clusters" holds {name, cluster}).
Result<void> check_section(const Value& document, const char* section) {
    const Value* entries = document.find(section);
    if (!entries || entries->is_null()) return {};
    if (!entries->is_array()) return malformed(std::string(section) + " must be a list");
    const std::string body = std::string(section).substr(0, std::string_view(section).size() - 1);
    for (const Value& entry : entries->as_array()) {
        if (!entry.is_object() || entry.string_at({"name"}).empty())
            return malformed("an entry of " + std::string(section) + " has no name");
        const Value* inner = entry.find(body);
        if (inner && !inner->is_null() && !inner->is_object())
            return malformed(body + " " + std::string(entry.string_at({"name"})) + " must be an object");
    }
    return {};
}

void make_paths_absolute(Value& entry, const char* body, std::initializer_list<const char*> keys, const std::string& folder) {
    Value* inner = entry.find(body);
    if (!inner) return;
    for (const char* key : keys) {
        Value* path = inner->find(key);
        if (path && path->is_string() && !path->as_string().empty() && !is_absolute_path(path->as_string()))
            *path = join_path(folder, path->as_string());
    }
}

/// The PEM text given inline as base64 in `<key>-data`, or in the file that `<key>` names.
Result<std::string> read_pem(FileSystem& files, const Value& body, const std::string& key) {
    if (const std::string_view data = body.string_at({key + "-data"}); !data.empty()) {
        auto decoded = decode_base64(data);
        if (!decoded) return malformed(key + "-data is not valid base64");
        return *std::move(decoded);
    }
    const std::string path(body.string_at({key}));
    if (path.empty()) return std::string();
    auto text = files.read(path);
    if (!text) return std::move(text).error().with_context("kubeconfig: " + key);
    return text;
}

Result<Value> find_body(const Value& document, const char* section, const char* body, const std::string& name) {
    const Value* entry = find_entry(document, section, name);
    if (!entry) return Error(Reason::NotFound, "kubeconfig: " + std::string(body) + " \"" + name + "\" does not exist");
    return at(*entry, body);
}

Result<void> change_file(FileSystem& files, const std::string& given_path, const std::function<bool(Kubeconfig&)>& change) {
    TRY_VOID(files.create_directories(parent_path(given_path), 0700));
    const std::string path = files.exists(given_path) ? files.real_path(given_path).value_or(given_path) : given_path;
    const std::string lock = path + ".lock";
    // A link is made or refused in one step, and kubectl takes any file of this name for a lock.
    if (auto locked = files.create_symlink("porthole", lock); !locked) {
        if (locked.error().reason != Reason::AlreadyExists) return locked;
        return Error(Reason::AlreadyExists, path + " is being changed by another program (if not, remove " + lock + ")");
    }
    const auto write = [&]() -> Result<void> {
        Result<std::string> text = files.read(path);
        if (!text && !is_not_found(text)) return std::move(text).error();
        Result<Kubeconfig> config = Kubeconfig::parse(text.value_or(""));
        if (!config) return std::move(config).error().with_context(path);
        if (!change(*config)) return {};
        return files.replace(path, config->text(), 0600);
    };
    Result<void> written = write();
    (void)files.remove(lock);
    return written;
}

}  // namespace

Kubeconfig::Kubeconfig() : Kubeconfig(Value::object({{"apiVersion", "v1"}, {"kind", "Config"}})) {}
Kubeconfig::Kubeconfig(Value document) : document_(std::move(document)) {}

Result<Kubeconfig> Kubeconfig::parse(std::string_view text) {
    auto parsed = schema::parse_yaml(text);
    if (!parsed) return std::move(parsed).error().with_context("kubeconfig");
    if (parsed->is_null()) return Kubeconfig();
    if (!parsed->is_object()) return malformed("an object is expected");
    for (const char* section : Sections) {
        TRY_VOID(check_section(*parsed, section));
    }
    return Kubeconfig(std::move(*parsed));
}

std::string Kubeconfig::text() const { return schema::to_yaml(document_); }

std::string Kubeconfig::current_context() const { return std::string(document_.string_at({"current-context"})); }

std::vector<std::string> Kubeconfig::contexts() const {
    std::vector<std::string> names;
    if (const Value* entries = document_.find("contexts"); entries && entries->is_array())
        for (const Value& entry : entries->as_array()) names.emplace_back(entry.string_at({"name"}));
    return names;
}

void Kubeconfig::merge(const Kubeconfig& other, const std::string& folder) {
    for (const char* section : Sections) {
        const Value* entries = other.document_.find(section);
        if (!entries || !entries->is_array()) continue;
        for (Value entry : entries->as_array()) {
            if (find_entry(document_, section, entry.string_at({"name"}))) continue;
            make_paths_absolute(entry, "cluster", {"certificate-authority"}, folder);
            make_paths_absolute(entry, "user", {"client-certificate", "client-key", "tokenFile"}, folder);
            ensure_section(document_, section).as_array().push_back(std::move(entry));
        }
    }
    if (current_context().empty() && !other.current_context().empty()) document_["current-context"] = other.current_context();
}

void Kubeconfig::set_entry(const KubeconfigEntry& entry) {
    Value cluster = Value::object({{"server", entry.server}});
    if (!entry.server_name.empty()) cluster["tls-server-name"] = entry.server_name;
    if (!entry.ca_pem.empty()) cluster["certificate-authority-data"] = encode_base64(entry.ca_pem);
    Value user = Value::object();
    if (!entry.certificate_pem.empty()) {
        user["client-certificate-data"] = encode_base64(entry.certificate_pem);
        user["client-key-data"] = encode_base64(entry.key_pem);
    }
    if (!entry.token.empty()) user["token"] = entry.token;
    put_entry(document_, "clusters", Value::object({{"name", entry.name}, {"cluster", std::move(cluster)}}));
    put_entry(document_, "users", Value::object({{"name", entry.name}, {"user", std::move(user)}}));
    Value context = Value::object({{"cluster", entry.name}, {"user", entry.name}});
    put_entry(document_, "contexts", Value::object({{"name", entry.name}, {"context", std::move(context)}}));
    document_["current-context"] = entry.name;
}

bool Kubeconfig::remove_entry(const std::string& name) {
    bool removed = false;
    for (const char* section : Sections) removed |= erase_entry(document_, section, name);
    if (current_context() == name) {
        document_["current-context"] = "";
        removed = true;
    }
    return removed;
}

Result<void> Kubeconfig::set_current_context(const std::string& name) {
    TRY_VOID(find_body(document_, "contexts", "context", name));
    document_["current-context"] = name;
    return {};
}

Result<ClientConfig> Kubeconfig::resolve(FileSystem& files, const std::string& context) const {
    const std::string name = context.empty() ? current_context() : context;
    if (name.empty()) return Error(Reason::NotFound, "kubeconfig: no context is selected");
    TRY(const Value chosen, find_body(document_, "contexts", "context", name));
    TRY(const Value cluster, find_body(document_, "clusters", "cluster", std::string(chosen.string_at({"cluster"}))));
    TRY(const Value user, find_body(document_, "users", "user", std::string(chosen.string_at({"user"}))));

    ClientConfig config;
    config.server = cluster.string_at({"server"});
    if (config.server.empty()) return malformed("cluster \"" + std::string(chosen.string_at({"cluster"})) + "\" has no server");
    config.server_name = cluster.string_at({"tls-server-name"});
    config.insecure_skip_verify = at(cluster, "insecure-skip-tls-verify").bool_or(false);
    TRY(config.ca_pem, read_pem(files, cluster, "certificate-authority"));
    TRY(config.certificate_pem, read_pem(files, user, "client-certificate"));
    TRY(config.key_pem, read_pem(files, user, "client-key"));
    config.token = user.string_at({"token"});
    config.token_file = user.string_at({"tokenFile"});
    config.namespace_ = chosen.string_at({"namespace"});
    if (config.namespace_.empty()) config.namespace_ = "default";
    return config;
}

Result<ServerUrl> parse_server_url(const std::string& text) {
    const auto refused = [&](const char* why) { return Error(Reason::BadRequest, "server \"" + text + "\": " + why); };
    ServerUrl url;
    std::string_view rest = text;
    if (rest.starts_with("https://"))
        rest.remove_prefix(8);
    else if (rest.starts_with("http://")) {
        rest.remove_prefix(7);
        url.tls = false;
        url.port = 80;
    } else
        return refused("must begin with https:// or http://");
    // What a header of a request must not have, and what would be read as another host.
    if (!std::ranges::all_of(rest, [](char c) { return c > ' ' && c < '\x7f' && c != '@' && c != '#' && c != '\\'; }))
        return refused("has characters that a URL of a server cannot have");
    const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
    url.prefix = rest.substr(slash);
    if (url.prefix.starts_with('?')) url.prefix.insert(0, 1, '/');
    while (url.prefix.ends_with('/')) url.prefix.pop_back();
    std::string_view authority = rest.substr(0, slash), port;
    if (authority.starts_with('[')) {
        const std::size_t close = authority.find(']');
        if (close == authority.npos) return refused("the bracket of the address is not closed");
        url.host = authority.substr(1, close - 1);
        port = authority.substr(close + 1);
    } else {
        const std::size_t colon = std::min(authority.find(':'), authority.size());
        url.host = authority.substr(0, colon);
        port = authority.substr(colon);
    }
    if (url.host.empty()) return refused("has no host");
    if (port.empty()) return url;
    port.remove_prefix(1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || end != port.data() + port.size() || url.port == 0) return refused("has a bad port");
    return url;
}

std::vector<std::string> kubeconfig_paths(const std::string& kubeconfig_variable, const std::string& home) {
    std::vector<std::string> paths;
    for (std::size_t start = 0; start < kubeconfig_variable.size();) {
        const std::size_t end = std::min(kubeconfig_variable.find(':', start), kubeconfig_variable.size());
        if (end > start) paths.push_back(kubeconfig_variable.substr(start, end - start));
        start = end + 1;
    }
    if (paths.empty()) paths.push_back(join_path(home, ".kube/config"));
    return paths;
}

Result<Kubeconfig> load_kubeconfig(FileSystem& files, const std::vector<std::string>& paths) {
    Kubeconfig merged;
    for (const std::string& path : paths) {
        const Result<std::string> text = files.read(path);
        if (is_not_found(text)) continue;
        if (!text) return text.error();
        Result<Kubeconfig> config = Kubeconfig::parse(*text);
        if (!config) return std::move(config).error().with_context(path);
        merged.merge(*config, parent_path(path));
    }
    return merged;
}

Result<Kubeconfig> read_kubeconfig(FileSystem& files, const std::string& path) {
    if (path.empty()) return Error(Reason::BadRequest, "no kubeconfig is given: use --kubeconfig FILE");
    if (!files.exists(path))
        return Error(Reason::NotFound, "no kubeconfig at " + path + ": run `join`, or copy one there from the cluster");
    return load_kubeconfig(files, {path});
}

Result<void> add_to_kubeconfig(FileSystem& files, const std::string& path, const KubeconfigEntry& entry) {
    return change_file(files, path, [&](Kubeconfig& config) {
        config.set_entry(entry);
        return true;
    });
}

Result<void> remove_from_kubeconfig(FileSystem& files, const std::string& path, const std::string& name, const std::string& fallback) {
    if (!files.exists(path)) return {};
    return change_file(files, path, [&](Kubeconfig& config) {
        const bool was_current = config.current_context() == name, removed = config.remove_entry(name);
        if (was_current && !fallback.empty()) (void)config.set_current_context(fallback);
        return removed;
    });
}

}  // namespace porthole::client
