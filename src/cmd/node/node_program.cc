#include "cmd/node/node_program.h"

#include "base/strings.h"
#include "kubelet/node/host.h"
#include "net/interface_address.h"

namespace porthole::cmd {

NodeProgram::NodeProgram(RealWorld& world, Logger log, const std::string& user_agent)
    : world_(world),
      log_(std::move(log)),
      connection_({world.loop, *files_, random_, node_join::connect_by_http(world.loop, user_agent), log_.named("certificates")}),
      scope_(world.loop, [this](const Error& error) { log_.error("a part of the program ended", {{"error", error.message}}); }) {}

Result<void> NodeProgram::connect(const std::string& kubeconfig, const std::string& server) {
    TRY_VOID(connection_.open(kubeconfig, server));
    TRY(balancer_, node_join::ApiBalancer::of_node({world_.loop, *files_, random_, connection_, log_}));
    if (balancer_) balancer_->start();
    use(connection_.transport());
    return {};
}

void NodeProgram::use(client::Transport& transport) {
    client_ = std::make_unique<client::Client>(transport);
    informers_ = std::make_unique<client::Informers>(client::InformerContext{world_.loop, *client_, random_, log_.named("informers")});
}

Result<std::string> NodeProgram::own_address() const {
    auto address = net::source_address_towards(connection_.server_behind());
    if (!address) return std::move(address).error().with_context("this node's address is not clear, give it with --node-ip");
    return address->to_string();
}

std::string NodeProgram::own_node_name() const { return to_lower(kubelet::make_host(*files_)->describe().hostname); }

Task<> NodeProgram::close_parts() {
    CO_TRY_VOID(co_await scope_.close());
    if (informers_) CO_TRY_VOID(co_await informers_->close());
    if (balancer_) CO_TRY_VOID(co_await balancer_->close());
    co_return {};
}

void NodeProgram::end_because(const Error& error) {
    broken_ = error;
    if (stop_) stop_->set();
}

int NodeProgram::run_on_console() {
    Event stop;
    return run_until(stop, [] {});
}

int NodeProgram::run_until(Event& stop, const std::function<void()>& started) {
    stop_ = &stop;
    world_.loop.on_signal([&](int) { stop.set(); });
    const auto begun = world_.run(start());
    if (begun && !ends_after_start()) {
        started();
        (void)world_.run(stop.wait());
    }
    const auto closed = world_.run(close());
    const Result<void>& ended = !begun ? begun : !broken_ ? broken_ : closed;
    if (ended) return 0;
    log_.error("the program cannot run", {{"error", ended.error().message}});
    return fail(ended.error().message);
}

}  // namespace porthole::cmd
