#include "fleet/fleet.h"

#include "base/result.h"
#include "runtime/scope.h"

namespace porthole::fleet {

Fleet::Fleet(client::InformerContext context, FleetPlan plan, HeartbeatOptions heartbeat, std::unique_ptr<PodModel> model)
    : plan_(std::move(plan)),
      model_(std::move(model)),
      nodes_(context, plan_, heartbeat),
      pods_(context, plan_, nodes_, *model_, heartbeat.in_flight) {}

Task<> Fleet::run() {
    std::vector<Task<>> tasks;
    tasks.push_back(nodes_.run());
    tasks.push_back(pods_.follow());
    tasks.push_back(pods_.run());
    CO_TRY_VOID(co_await when_all(std::move(tasks)));
    co_return {};
}

}  // namespace porthole::fleet
