#include "cni/plugin/flannel/flannel_plugin.h"

#include <algorithm>

#include "base/result.h"
#include "cni/plugin/errors.h"
#include "schema/json/json.h"

namespace porthole::cni {

using schema::Value;

namespace {

constexpr std::string_view SharedNetns = "container:";

/// A container of Docker that shares a sandbox's network: the sandbox's own calls do the work.
bool shares_sandbox(const CniRequest& request) { return request.netns.starts_with(SharedNetns); }

std::string type_of(const Value& config) { return std::string(config.string_at({"type"})); }

std::string setting(const CniRequest& request, const char* name, const std::string& usual) {
    const std::string given(request.config.string_at({name}));
    return given.empty() ? usual : given;
}

}  // namespace

Result<flannel::SubnetFile> FlannelPlugin::subnet(const CniRequest& request) {
    const std::string path = setting(request, "subnetFile", options_.subnet_file);
    const auto text = files_.read(path);
    if (!text)
        return cni_error(CniCode::TryAgainLater,
                         "loading the node's subnet: " + text.error().message + "; the subnet daemon (flanneld) " +
                             (files_.exists(parent_path(path)) ? "has not written it: see its log"
                                                               : "has never run here: start it, or see whether it runs") +
                             ". By hand: write " + path +
                             " with FLANNEL_NETWORK (of all pods), FLANNEL_SUBNET (the first address of spec.podCIDR of this node), "
                             "FLANNEL_MTU and FLANNEL_IPMASQ, a line NAME=VALUE each");
    auto parsed = flannel::parse_subnet_file(*text);
    if (!parsed) return cni_error(CniCode::InvalidConfig, path + ": " + parsed.error().message);
    return parsed;
}

Result<Value> FlannelPlugin::current_config(const CniRequest& request) {
    TRY(const flannel::SubnetFile file, subnet(request));
    return delegated_config(request, file, options_.style);
}

std::string FlannelPlugin::folder(const CniRequest& request) const { return setting(request, "dataDir", options_.data_dir); }

std::string FlannelPlugin::kept_file(const CniRequest& request) const {
    return join_path(folder(request), shares_sandbox(request) ? request.netns.substr(SharedNetns.size()) : request.container_id);
}

Result<void> FlannelPlugin::keep(const std::string& path, const Value& config) {
    TRY_VOID(files_.create_directories(parent_path(path), 0700));
    return files_.replace(path, schema::to_json(config), 0600);
}

Result<Value> FlannelPlugin::kept(const std::string& path) {
    TRY(const std::string text, files_.read(path));
    return schema::parse_json(text);
}

Task<CniResult> FlannelPlugin::add(CniRequest request) {
    CO_TRY(const Value config, current_config(request));
    const bool known = files_.exists(kept_file(request));
    CO_TRY_VOID(keep(kept_file(request), config));
    auto result = co_await delegates_.add_by(type_of(config), request, config);
    if (!result && !known) (void)co_await undo(request, config);
    co_return result;
}

Task<> FlannelPlugin::undo(CniRequest request, Value config) {
    CO_TRY_VOID(co_await delegates_.call(type_of(config), "DEL", request, config));
    const auto removed = files_.remove(kept_file(request));
    if (!removed && !is_not_found(removed)) co_return removed.error();
    co_return {};
}

Task<> FlannelPlugin::remove(CniRequest request) {
    if (shares_sandbox(request)) co_return {};
    auto config = kept(kept_file(request));
    if (is_not_found(config)) co_return {};
    if (!config) config = current_config(request);  // the file is damaged; the range rarely changes
    CO_TRY(Value wanted, std::move(config));
    // What the runtime knows now wins over what it knew then.
    for (const char* name : {"prevResult", "runtimeConfig"}) {
        if (const Value* passed = request.config.find(name)) wanted[name] = *passed;
    }
    co_return co_await undo(std::move(request), std::move(wanted));
}

Task<> FlannelPlugin::check(CniRequest request) {
    auto config = kept(kept_file(request));
    if (!config) co_return cni_error(CniCode::UnknownContainer, "nothing was delegated for this container: " + config.error().message);
    if (const Value* previous = request.config.find("prevResult")) (*config)["prevResult"] = *previous;
    const std::string type = type_of(*config);
    co_return co_await delegates_.call(type, "CHECK", std::move(request), *std::move(config));
}

Task<> FlannelPlugin::status(CniRequest request) {
    auto config = current_config(request);
    if (!config) co_return cni_error(CniCode::NotAvailable, config.error().message);
    const std::string type = type_of(*config);
    co_return co_await delegates_.call(type, "STATUS", std::move(request), *std::move(config));
}

Task<> FlannelPlugin::collect(CniRequest request) {
    CO_TRY(Value config, current_config(request));
    const std::string type = type_of(config);
    CO_TRY_VOID(co_await delegates_.call(type, "GC", request, std::move(config)));
    const auto names = files_.list(folder(request));
    if (!names) co_return {};
    const auto valid = valid_attachments(request);
    for (const std::string& name : *names) {
        if (std::ranges::any_of(valid, [&](const auto& pair) { return pair.first == name; })) continue;
        const std::string path = join_path(folder(request), name);
        const auto config_of_it = kept(path);
        if (config_of_it && config_of_it->string_at({"name"}) == request.network) CO_TRY_VOID(files_.remove(path));
    }
    co_return {};
}

}  // namespace porthole::cni
