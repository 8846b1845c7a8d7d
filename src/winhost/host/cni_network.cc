#include "winhost/host/cni_network.h"

#include "base/result.h"
#include "base/strings.h"
#include "hns/hresult.h"
#include "schema/json/json.h"
#include "winhost/bundle/held_tree.h"
#include "winhost/runtime/container_root.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

using schema::Value;

bool is_configuration(const std::string& name) { return name.ends_with(".conf") || name.ends_with(".conflist") || name.ends_with(".json"); }

/// Pods may write there: a link is not followed.
Result<std::string> read_below(const std::string& root, const std::string& path) {
    TRY(const HeldTree tree, HeldTree::open(root));
    return tree.read(path.substr(root.size() + 1), FileSystem::ReadLimit);
}

}  // namespace

Result<std::string> CniNetwork::read_configuration() {
    for (const std::string& folder : folders_.configurations) {
        TRY(const WindowsPath path, WindowsPath::parse(folder));
        TRY(const std::string place, locate(context_.files, drive_of(root_), path.components));
        const auto names = context_.files.list(place);
        if (!names) continue;
        for (const std::string& name : *names)
            if (is_configuration(name)) return read_below(root_, join_path(place, name));
    }
    return Error(Reason::NotFound, "no network config found in " + join(folders_.configurations, ", "));
}

Result<CniNetworkConfig> CniNetwork::configuration() {
    TRY(const std::string text, read_configuration());
    return CniNetworkConfig::parse(text);
}

std::string CniNetwork::not_ready() {
    const auto network = configuration();
    return network ? "" : "cni config uninitialized: " + network.error().message;
}

Task<std::string> CniNetwork::create_namespace() {
    CO_TRY(const auto made, co_await hns_.create(hns::hcn::HostComputeNamespace{}));
    co_return made.id;
}

Task<> CniNetwork::remove_namespace(std::string namespace_id) {
    auto removed = co_await hns_.remove<hns::hcn::HostComputeNamespace>(std::move(namespace_id));
    if (!removed && !hns::is_object_missing(removed.error())) co_return removed;
    co_return {};
}

std::string CniNetwork::path(const std::string& namespace_id) const { return context_.emulator.namespace_path(namespace_id).value_or(""); }

Result<std::string> CniNetwork::find_plugin(const std::string& type) {
    for (const std::string& folder : folders_.plugins) {
        TRY(const WindowsPath path, WindowsPath::parse(folder + "\\" + type + ".exe"));
        TRY(const std::string place, locate(context_.files, drive_of(root_), path.components));
        if (context_.files.exists(place)) return path.text();
    }
    return Error(Reason::NotFound, "failed to find plugin \"" + type + "\" in path [" + join(folders_.plugins, " ") + "]");
}

Task<std::string> CniNetwork::call(std::string command, CniNetworkConfig network, std::size_t plugin, PodAttachment pod, Value previous) {
    CO_TRY(const std::string program, find_plugin(network.type(plugin)));
    HostCommand run;
    run.program = program;
    run.variables = make_plugin_environment(command, pod, join(folders_.plugins, ";"));
    run.input = make_plugin_input(network, plugin, pod, previous);
    CO_TRY(const CommandOutput output, co_await context_.programs.run(std::move(run)));
    if (output.exit_code != 0)
        co_return Error(Reason::Unknown, "plugin type=\"" + network.type(plugin) + "\" name=\"" + network.name + "\" failed (" +
                                             (command == "ADD" ? "add" : "delete") +
                                             "): " + plugin_failure(output.output, output.errors, output.exit_code));
    co_return output.output;
}

Result<void> CniNetwork::remember(const PodAttachment& pod, const CniNetworkConfig& network, const Value& result) {
    TRY_VOID(context_.files.create_directories(cache_, 0700));
    schema::Array plugins(network.plugins.begin(), network.plugins.end());
    const Value record =
        Value::object({{"name", network.name}, {"cniVersion", network.version}, {"plugins", std::move(plugins)}, {"result", result}});
    return context_.files.write(cache_file(pod), schema::to_json(record), 0600);
}

Result<CniNetwork::Attached> CniNetwork::recall(const PodAttachment& pod) {
    TRY(const std::string text, context_.files.read(cache_file(pod)));
    TRY(const Value record, schema::parse_json(text));
    TRY(CniNetworkConfig network, CniNetworkConfig::parse(text));
    const Value* result = record.find("result");
    return Attached{std::move(network), result ? *result : Value()};
}

Task<PodAddresses> CniNetwork::attach(PodAttachment attachment) {
    const std::string context = "failed to setup network for sandbox \"" + attachment.sandbox_id + "\"";
    auto network = configuration();
    if (!network) co_return std::move(network).error().with_context(context);
    // What DEL will need stands on the disk before anything is done.
    CO_TRY_VOID(remember(attachment, *network, Value()));
    Value result;
    for (std::size_t i = 0; i < network->plugins.size(); ++i) {
        auto output = co_await call("ADD", *network, i, attachment, result);
        if (!output) co_return std::move(output).error().with_context(context);
        auto document = schema::parse_json(*output);
        if (!document) co_return Error(Reason::Invalid, context + ": plugin \"" + network->type(i) + "\" has printed no result");
        result = *std::move(document);
    }
    CO_TRY_VOID(remember(attachment, *network, result));
    auto addresses = read_plugin_result(result);
    if (!addresses) co_return std::move(addresses).error().with_context(context);
    co_return *std::move(addresses);
}

Task<> CniNetwork::detach(PodAttachment attachment) {
    auto attached = recall(attachment);
    if (is_not_found(attached)) co_return {};  // never attached, or given back already
    CO_TRY_VOID(attached);
    for (std::size_t i = attached->network.plugins.size(); i-- > 0;) {
        auto done = co_await call("DEL", attached->network, i, attachment, attached->result);
        if (!done)
            co_return std::move(done).error().with_context("failed to destroy network for sandbox \"" + attachment.sandbox_id + "\"");
    }
    co_return context_.files.remove(cache_file(attachment));
}

}  // namespace porthole::winhost
