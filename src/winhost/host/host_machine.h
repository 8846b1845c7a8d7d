#pragma once
#include <string>

#include "csi_proxy/host.h"
#include "winhost/host/host_programs.h"
#include "winhost/host/iscsi_initiator.h"

namespace porthole::winhost {

/// The machine that an emulated host plays, and its services, by Wine's sc.exe and registry: a host has those of a node, and few of
/// Windows' own. Where the machine has open-iscsi, that is the service msiscsi, which always runs. `programs` and `iscsi` outlive it.
class HostMachine final : public csi_proxy::Machine {
public:
    HostMachine(HostPrograms& programs, std::string serial_number, const IscsiInitiator* iscsi = nullptr)
        : programs_(programs), serial_number_(std::move(serial_number)), iscsi_(iscsi) {}

    Task<std::string> serial_number() override;
    /// Errors: NotFound, Io.
    Task<Service> service(std::string name) override;
    /// Success if it runs already. Does not wait until it does. Stopping one on which others depend fails.
    Task<> start_service(std::string name) override;
    Task<> stop_service(std::string name, bool with_dependents) override;

private:
    bool is_open_iscsi(const std::string& service) const;
    Task<CommandOutput> sc(std::string verb, std::string name);
    Task<api::csiproxy::v1alpha1::ServiceStatus> status(std::string name);

    HostPrograms& programs_;
    std::string serial_number_;
    const IscsiInitiator* iscsi_;
};

}  // namespace porthole::winhost
