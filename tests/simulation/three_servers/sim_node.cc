#include "simulation/three_servers/sim_node.h"

#include "base/result.h"
#include "fleet/timed_model.h"

namespace porthole::simulation {
namespace {

fleet::FleetPlan plan_of(std::size_t number) {
    fleet::FleetPlanOptions options;
    options.linux_nodes = 1;
    options.name_prefix = "n" + std::to_string(number) + "-";
    options.addresses = *IpPrefix::parse("198.18." + std::to_string(number) + ".0/24");
    options.capacity["cpu"] = Quantity::from_value(8);
    options.capacity["memory"] = Quantity::from_value(32LL << 30);
    options.capacity["pods"] = Quantity::from_value(110);
    return *fleet::FleetPlan::create(std::move(options));
}

}  // namespace

SimNode::SimNode(sim::SimLoop& loop, const Addresses& addresses, std::size_t number, std::uint64_t seed)
    : host_(loop),
      name_("n" + std::to_string(number) + "-0"),
      plan_(plan_of(number)),
      random_(seed),
      process_(loop),
      link_(loop, random_, addresses),
      client_(link_) {}

SimNode::~SimNode() { CHECK(!running()); }

void SimNode::start() {
    CHECK(!running());
    fleet_ =
        std::make_unique<fleet::Fleet>(client::InformerContext{process_, client_, random_, Logger(make_null_sink(), name_)}, plan_,
                                       fleet::HeartbeatOptions{.in_flight = 2}, std::make_unique<fleet::TimedModel>(fleet::PodTimes()));
    main_.start(serve());
}

Task<> SimNode::serve() {
    for (;;) {
        const auto started = co_await fleet_->start();
        if (started) break;
        if (is_cancelled(started)) co_return started.error();
        CO_TRY_VOID(co_await process_.sleep(std::chrono::seconds(1)));
    }
    co_return co_await fleet_->run();
}

void SimNode::kill() {
    if (!running()) return;
    ++ends_;
    process_.resume();
    link_.cut();
    main_.cancel();
    CHECK(host_.run_until([&] { return !main_.running(); }, std::chrono::minutes(1)));
    fleet_.reset();
    CHECK(process_.timers() == 0);
}

}  // namespace porthole::simulation
