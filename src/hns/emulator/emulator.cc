#include "hns/emulator/emulator.h"

#include "base/result.h"
#include "hns/emulator/operations/endpoints.h"
#include "hns/emulator/operations/enumerate.h"
#include "hns/emulator/operations/load_balancers.h"
#include "hns/emulator/operations/namespaces.h"
#include "hns/emulator/operations/networks.h"
#include "hns/emulator/operations/routes.h"
#include "hns/guid.h"
#include "schema/json/json.h"

namespace porthole::hns::emulator {
namespace {

std::string name_of(const char* verb, ObjectKind kind) {
    static constexpr const char* words[] = {"Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"};
    return std::string("Hcn") + verb + words[static_cast<std::size_t>(kind)];
}

/// A request's document; what cannot be read is Hresult::InvalidJson.
template <class D>
Result<D> read(const std::string& json) {
    auto document = parse_document<D>(json);
    if (!document) return hresult_error(Hresult::InvalidJson, "The JSON document is invalid: " + document.error().message + ".");
    return document;
}

Result<std::string> create_object(Transaction& transaction, ObjectKind kind, const std::string& parent, const std::string& json) {
    switch (kind) {
        case ObjectKind::Network: {
            TRY(auto document, read<hcn::HostComputeNetwork>(json));
            return create_network(transaction, std::move(document));
        }
        case ObjectKind::Endpoint: {
            TRY(auto document, read<hcn::HostComputeEndpoint>(json));
            const std::string network = parent.empty() ? document.host_compute_network : parent;
            return create_endpoint(transaction, network, std::move(document));
        }
        case ObjectKind::Namespace: {
            TRY(auto document, read<hcn::HostComputeNamespace>(json));
            return create_namespace(transaction, std::move(document));
        }
        case ObjectKind::LoadBalancer: {
            TRY(auto document, read<hcn::HostComputeLoadBalancer>(json));
            return create_load_balancer(transaction, std::move(document));
        }
        case ObjectKind::SdnRoute: {
            TRY(auto document, read<hcn::HostComputeRoute>(json));
            return create_route(transaction, std::move(document));
        }
    }
    return hresult_error(Hresult::InvalidParameter);
}

Result<void> modify_object(Transaction& transaction, ObjectKind kind, const std::string& id, const std::string& json) {
    if (kind == ObjectKind::LoadBalancer) {
        TRY(auto document, read<hcn::HostComputeLoadBalancer>(json));
        return modify_load_balancer(transaction, id, std::move(document));
    }
    TRY(const auto request, read<hcn::ModifySettingRequest>(json));
    switch (kind) {
        case ObjectKind::Network:
            return modify_network(transaction, id, request);
        case ObjectKind::Endpoint:
            return modify_endpoint(transaction, id, request);
        case ObjectKind::Namespace:
            return modify_namespace(transaction, id, request);
        default:
            return hresult_error(Hresult::NotImplemented);
    }
}

Result<void> remove_object(Transaction& transaction, ObjectKind kind, const std::string& id) {
    switch (kind) {
        case ObjectKind::Network:
            return remove_network(transaction, id);
        case ObjectKind::Endpoint:
            return remove_endpoint(transaction, id);
        case ObjectKind::Namespace:
            return remove_namespace(transaction, id);
        case ObjectKind::LoadBalancer:
            return remove_load_balancer(transaction, id);
        case ObjectKind::SdnRoute:
            return remove_route(transaction, id);
    }
    return hresult_error(Hresult::InvalidParameter);
}

/// Every failure of the service has a code.
Error as_hresult(Error error) {
    if (is_cancelled(error) || hresult_of(error) != Hresult::Ok) return error;
    return hresult_error(error.reason == Reason::BadRequest ? Hresult::InvalidJson : Hresult::Unexpected, error.message);
}

std::string string_array(const std::vector<std::string>& items) {
    schema::Array array;
    for (const std::string& item : items) array.emplace_back(item);
    return schema::to_json(schema::Value(std::move(array)));
}

}  // namespace

Emulator::Emulator(EmulatorContext context, EmulatorOptions options)
    : context_(std::move(context)),
      options_(std::move(options)),
      host_{options_.profile, options_.profile.features(), {}, context_.random},
      store_(context_.files, options_.data_dir, context_.log),
      scope_(context_.loop) {}

Emulator::~Emulator() = default;

Task<> Emulator::start() {
    CO_TRY_VOID(co_await refresh_adapters());
    CO_TRY(model_, store_.load());
    CO_TRY_VOID(co_await context_.data_plane.restore(model_));
    start_switches();
    co_return {};
}

Task<> Emulator::close() {
    closing_ = true;
    disconnect_subscribers();
    {
        CO_TRY(const auto permit, co_await turn_.acquire());
    }
    co_return co_await scope_.close();
}

// The calls ----------------------------------------------------------------------------------------------------------

Task<std::string> Emulator::enumerate(ObjectKind kind, std::string query) {
    Call call{name_of("Enumerate", kind) + "s", query};
    return run_v2(std::move(call), [kind, query](Transaction& transaction) -> Result<std::string> {
        TRY(const auto ids, emulator::enumerate(transaction.model(), kind, query));
        return string_array(ids);
    });
}

Task<std::string> Emulator::create(ObjectKind kind, std::string parent, std::string settings) {
    Call call{name_of("Create", kind), settings, kind == ObjectKind::Network ? Adapters::ReadAgain : Adapters::AsKnown};
    return run_v2(std::move(call),
                  [kind, parent, settings](Transaction& transaction) { return create_object(transaction, kind, parent, settings); });
}

Task<std::string> Emulator::query(ObjectKind kind, std::string id, std::string query) {
    Call call{name_of("Query", kind) + "Properties", id + " " + query};
    return run_v2(std::move(call), [kind, id](Transaction& transaction) { return show(transaction.model(), kind, id); });
}

Task<> Emulator::modify(ObjectKind kind, std::string id, std::string settings) {
    Call call{name_of("Modify", kind), id + " " + settings};
    CO_TRY_VOID(co_await run_v2(std::move(call), [kind, id, settings](Transaction& transaction) -> Result<std::string> {
        TRY_VOID(modify_object(transaction, kind, id, settings));
        return std::string();
    }));
    co_return {};
}

Task<> Emulator::remove(ObjectKind kind, std::string id) {
    Call call{name_of("Delete", kind), id};
    CO_TRY_VOID(co_await run_v2(std::move(call), [kind, id](Transaction& transaction) -> Result<std::string> {
        TRY_VOID(remove_object(transaction, kind, id));
        return std::string();
    }));
    co_return {};
}

Task<std::string> Emulator::call_v1(std::string method, std::string path, std::string body) {
    auto request = v1::parse_request(method, path, body);
    const bool makes_network = request && request->method == "POST" && request->collection == "networks";
    Call call{"HNSCall", method + " " + path + " " + body, makes_network ? Adapters::ReadAgain : Adapters::AsKnown};
    auto output = co_await run_v1(std::move(call), std::move(request));
    if (!output && (is_disconnected(output.error()) || is_cancelled(output))) co_return std::move(output).error();
    co_return v1::write_response(output);
}

Task<std::string> Emulator::run_v1(Call call, Result<v1::Request> request) {
    if (request && request->collection == "endpointstats") co_return co_await endpoint_stats(std::move(call), request->id);
    co_return co_await run(std::move(call), [request](Transaction& transaction) -> Result<std::string> {
        if (!request) return Error(request.error());
        TRY(const schema::Value answer, v1::answer(transaction, *request));
        return schema::to_json(answer);
    });
}

Task<std::string> Emulator::endpoint_stats(Call call, std::string id) {
    CO_TRY(const std::string found, co_await run(std::move(call), [id](Transaction& transaction) -> Result<std::string> {
               TRY(const Endpoint* endpoint, need_endpoint(transaction.model(), id));
               return endpoint->document.id;
           }));
    CO_TRY(const Counters counters, co_await context_.data_plane.counters(found));
    co_return v1::write_stats(found, counters);
}

Task<> Emulator::subscribe(std::function<void(const Notification&)> listener) {
    if (down_ || closing_) co_return hresult_error(Hresult::RpcServerUnavailable);
    Subscriber subscriber;
    subscriber.listener = std::move(listener);
    const auto place = subscribers_.insert(subscribers_.end(), &subscriber);
    auto ended = co_await subscriber.ended.wait();
    // disconnect_subscribers() has forgotten us already.
    if (!subscriber.ended.is_set()) subscribers_.erase(place);
    co_return ended;
}

// Transactions -------------------------------------------------------------------------------------------------------

Task<std::string> Emulator::run_v2(Call call, Step step) {
    if (!host_.features.api_v2) co_return hresult_error(Hresult::NotImplemented, "This release has no version 2 of the API.");
    co_return co_await run(std::move(call), std::move(step));
}

Task<std::string> Emulator::run(Call call, Step step) {
    if (closing_) co_return hresult_error(Hresult::RpcServerUnavailable);
    auto answer = std::make_shared<Promise<std::string>>();
    scope_.spawn(carry_out(std::move(call), std::move(step), answer));
    co_return co_await answer->wait();
}

Task<> Emulator::carry_out(Call call, Step step, Answer answer) {
    auto done = co_await perform(call, std::move(step));
    if (!done) {
        done = as_hresult(std::move(done).error());
        context_.log.debug("call failed", {{"call", call.name}, {"error", done.error().message}, {"request", call.request}});
    }
    answer->set(std::move(done));
    co_return {};
}

Task<std::string> Emulator::perform(Call call, Step step) {
    CO_TRY(const auto permit, co_await turn_.acquire());
    if (!call.name.empty()) {
        CO_TRY_VOID(co_await meet_faults(call.name));
    }
    if (call.adapters == Adapters::ReadAgain) {
        CO_TRY_VOID(co_await refresh_adapters());
    }
    Transaction transaction(model_, host_);
    CO_TRY(std::string answer, step(transaction));
    if (!transaction.empty()) {
        CO_TRY_VOID(co_await commit(transaction));
    }
    co_return answer;
}

Task<> Emulator::meet_faults(std::string call) {
    if (closing_ || down_) co_return hresult_error(Hresult::RpcServerUnavailable);
    if (faults_.delay > Duration::zero()) {
        CO_TRY_VOID(co_await context_.loop.sleep(faults_.delay));
    }
    if (down_) co_return hresult_error(Hresult::RpcCallFailed);
    if (const auto code = faults_.take(call)) co_return hresult_error(*code);
    co_return {};
}

Task<> Emulator::commit(const Transaction& transaction) {
    CO_TRY_VOID(check_port_race(transaction));
    const Model& next = transaction.model();
    CO_TRY_VOID(co_await context_.data_plane.apply(model_, next, transaction.changes()));
    if (auto saved = store_.save(next, transaction.changes()); !saved) {
        context_.log.error("state cannot be stored; the change is reverted", {{"error", saved.error().message}});
        static_cast<void>(store_.save(model_, transaction.changes()));
        CO_TRY_VOID(co_await context_.data_plane.apply(next, model_, transaction.changes()));
        co_return std::move(saved).error();
    }
    const Model before = std::exchange(model_, next);
    note_attachments(before, transaction.changes());
    for (const Notification& notification : transaction.notifications()) notify(notification);
    start_switches();
    co_return {};
}

Result<void> Emulator::check_port_race(const Transaction& transaction) const {
    if (faults_.port_race == Duration::zero()) return {};
    for (const std::string& id : transaction.changes().load_balancers) {
        const LoadBalancer* balancer = find(transaction.model().load_balancers, id);
        if (!balancer) continue;
        for (const std::string& endpoint : balancer->document.host_compute_endpoints) {
            const auto attached = attached_at_.find(endpoint);
            if (attached != attached_at_.end() && context_.loop.now() - attached->second < faults_.port_race)
                return hresult_error(Hresult::PortNotFound);
        }
    }
    return {};
}

void Emulator::note_attachments(const Model& before, const Changes& changes) {
    if (faults_.port_race == Duration::zero()) return attached_at_.clear();
    for (const std::string& id : changes.endpoints) {
        const Endpoint *old = find(before.endpoints, id), *now = find(model_.endpoints, id);
        if (now && now->is_attached() && (!old || !old->is_attached())) attached_at_[id] = context_.loop.now();
        if (!now) attached_at_.erase(id);
    }
}

// Switches -----------------------------------------------------------------------------------------------------------

Task<> Emulator::refresh_adapters() {
    CO_TRY(host_.adapters, co_await context_.data_plane.adapters());
    for (Adapter& adapter : host_.adapters) {
        const auto renamed = faults_.renamed_adapters.find(adapter.name);
        if (renamed != faults_.renamed_adapters.end()) adapter.renamed = renamed->second;
    }
    co_return {};
}

void Emulator::start_switches() {
    for (const auto& [id, network] : model_.networks) {
        if (!network->ready && switches_starting_.emplace(id, true).second) scope_.spawn(make_ready(id));
    }
}

/// The host's address leaves its adapter and comes back on the virtual one: clients poll for it.
Task<> Emulator::make_ready(std::string network_id) {
    while (true) {
        CO_TRY_VOID(co_await context_.loop.sleep(options_.switch_delay));
        CO_TRY_VOID(co_await refresh_adapters());
        auto made = co_await perform({}, [network_id](Transaction& transaction) -> Result<std::string> {
            TRY_VOID(network_became_ready(transaction, network_id));
            return std::string();
        });
        if (made || is_hresult(made.error(), Hresult::NetworkNotFound)) break;
        if (is_cancelled(made)) co_return std::move(made).error();
        context_.log.warn("network is not ready yet", {{"network", network_id}, {"error", made.error().message}});
    }
    switches_starting_.erase(network_id);
    co_return {};
}

// Faults and restarts ------------------------------------------------------------------------------------------------

Task<std::string> Emulator::control(std::string request) {
    CO_TRY(const ControlRequest wanted, parse_control_request(request));
    apply_faults(wanted, faults_);
    CO_TRY_VOID(co_await refresh_adapters());
    CO_TRY_VOID(co_await take_service_action(wanted.service));
    if (wanted.reboot) {
        CO_TRY_VOID(co_await reboot());
    }
    if (!wanted.remake_network.empty()) {
        CO_TRY_VOID(co_await remake(wanted.remake_network));
    }
    if (wanted.lose_rules) {
        CO_TRY(const auto permit, co_await turn_.acquire());
        CO_TRY_VOID(co_await context_.data_plane.lose_rules());
    }
    co_return status();
}

Task<> Emulator::take_service_action(ControlRequest::Service action) {
    using enum ControlRequest::Service;
    if (action == Stop || action == Restart) {
        CO_TRY_VOID(co_await stop_service());
    }
    if (action == Start || action == Restart) {
        CO_TRY_VOID(co_await start_service());
    }
    co_return {};
}

Task<> Emulator::stop_service() {
    if (std::exchange(down_, true)) co_return {};
    disconnect_subscribers();
    co_return {};
}

Task<> Emulator::start_service() {
    if (!down_) co_return {};
    CO_TRY_VOID(co_await become(after_service_restart));
    down_ = false;
    co_return {};
}

Task<> Emulator::reboot() {
    CO_TRY_VOID(co_await stop_service());
    CO_TRY_VOID(co_await become(after_reboot));
    down_ = false;
    co_return {};
}

Task<> Emulator::become(Model (*successor)(const Model&)) {
    CO_TRY(const auto permit, co_await turn_.acquire());
    Model next = successor(model_);
    CO_TRY_VOID(co_await context_.data_plane.restore(next));
    CO_TRY_VOID(store_.save(next, difference(model_, next)));
    model_ = std::move(next);
    attached_at_.clear();
    start_switches();
    co_return {};
}

Task<> Emulator::remake(std::string network) {
    auto remade = co_await run({"", "remake " + network}, [network](Transaction& transaction) -> Result<std::string> {
        for (const auto& [id, found] : transaction.model().networks) {
            if (found->document.name == network || same_guid(id, network)) return remake_network(transaction, std::string(id));
        }
        return hresult_error(Hresult::NetworkNotFound, "There is no network named \"" + network + "\".");
    });
    CO_TRY_VOID(std::move(remade));
    co_return {};
}

std::string Emulator::status() const {
    const Profile& profile = options_.profile;
    const schema::Value objects = schema::Value::object({{"networks", model_.networks.size()},
                                                         {"endpoints", model_.endpoints.size()},
                                                         {"namespaces", model_.namespaces.size()},
                                                         {"loadBalancers", model_.load_balancers.size()},
                                                         {"routes", model_.routes.size()}});
    return schema::to_json(schema::Value::object({{"profile", profile.name},
                                                  {"build", profile.build},
                                                  {"version", profile.version.to_string()},
                                                  {"running", !down_},
                                                  {"faults", faults_.to_value()},
                                                  {"objects", objects}}));
}

void Emulator::notify(const Notification& notification) {
    for (Subscriber* subscriber : subscribers_) subscriber->listener(notification);
}

void Emulator::disconnect_subscribers() {
    notify({NotificationType::ServiceDisconnect, ""});
    for (Subscriber* subscriber : std::exchange(subscribers_, {})) subscriber->ended.set();
}

Result<std::string> Emulator::namespace_path(const std::string& id) const {
    TRY(const Namespace* space, need_namespace(model_, id));
    return context_.data_plane.namespace_path(space->document.id);
}

}  // namespace porthole::hns::emulator
