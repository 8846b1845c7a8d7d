#include <algorithm>

#include "base/strings.h"
#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {
namespace {

using namespace api::csiproxy::v1alpha1;

class SystemGroup {
public:
    SystemGroup(GroupContext context, net::GrpcHandler& grpc) : machine_(context.host.machine), allowed_(context.host.services) {
        Methods methods(grpc, {});
        methods.add(System::GetBIOSSerialNumber, [this](auto) { return serial_number(); });
        methods.add(System::GetService, [this](auto request) { return service(std::move(request)); });
        methods.add(System::StartService, [this](auto request) { return start(std::move(request)); });
        methods.add(System::StopService, [this](auto request) { return stop(std::move(request)); });
    }

private:
    Result<void> check() const { return machine_ ? Result<void>() : Result<void>(not_on_this_host("facts of the machine")); }
    Result<void> check(const std::string& service) const {
        TRY_VOID(check());
        return check_service(service);
    }
    Result<void> check_change(const std::string& service) const {
        TRY_VOID(check(service));
        const bool allowed = std::ranges::any_of(allowed_, [&](const std::string& one) { return equal_ignoring_case(one, service); });
        if (!allowed)
            return Error(Reason::Forbidden,
                         "service " + service + " is not one that drivers may start and stop (-allowed-services): " + join(allowed_, ", "));
        return {};
    }

    Task<GetBIOSSerialNumberResponse> serial_number() {
        CO_TRY_VOID(check());
        GetBIOSSerialNumberResponse response;
        CO_TRY(response.serial_number, co_await machine_->serial_number());
        co_return response;
    }
    Task<GetServiceResponse> service(GetServiceRequest request) {
        CO_TRY_VOID(check(request.name));
        co_return co_await machine_->service(std::move(request.name));
    }
    Task<StartServiceResponse> start(StartServiceRequest request) {
        CO_TRY_VOID(check_change(request.name));
        CO_TRY_VOID(co_await machine_->start_service(std::move(request.name)));
        co_return StartServiceResponse();
    }
    Task<StopServiceResponse> stop(StopServiceRequest request) {
        CO_TRY_VOID(check_change(request.name));
        CO_TRY_VOID(co_await machine_->stop_service(std::move(request.name), request.force));
        co_return StopServiceResponse();
    }

    Machine* machine_;
    const std::vector<std::string> allowed_;
};

}  // namespace

Group make_system_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<SystemGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
