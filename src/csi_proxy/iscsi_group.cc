#include "api/csiproxy_v1alpha2.h"
#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {
namespace {

namespace v1alpha2 = api::csiproxy::v1alpha2;
using namespace v1alpha2;
using Iscsi = csi_proxy::Iscsi;

Result<Iscsi::Portal> checked_portal(const schema::Box<TargetPortal>& portal) {
    if (!portal) return Error(Reason::BadRequest, "the request has no target portal");
    TRY_VOID(check_target_portal(portal->target_address, portal->target_port));
    return Iscsi::Portal{portal->target_address, portal->target_port};
}

Result<Iscsi::Chap> chap_of(AuthenticationType type) {
    switch (type) {
        case AuthenticationType::None:
            return Iscsi::Chap::None;
        case AuthenticationType::OneWayChap:
            return Iscsi::Chap::OneWay;
        case AuthenticationType::MutualChap:
            return Iscsi::Chap::Mutual;
    }
    return Error(Reason::BadRequest, "unknown kind of authentication");
}

class IscsiGroup {
public:
    IscsiGroup(GroupContext context, net::GrpcHandler& grpc) : iscsi_(context.host.iscsi) {
        Methods methods(grpc, {"v1alpha1"});
        using Service = v1alpha2::Iscsi;
        methods.add(Service::AddTargetPortal, [this](auto request) { return add(std::move(request)); });
        methods.add(Service::DiscoverTargetPortal, [this](auto request) { return discover(std::move(request)); });
        methods.add(Service::ListTargetPortals, [this](auto) { return list(); });
        methods.add(Service::RemoveTargetPortal, [this](auto request) { return remove(std::move(request)); });
        methods.add(Service::ConnectTarget, [this](auto request) { return connect(std::move(request)); });
        methods.add(Service::DisconnectTarget, [this](auto request) { return disconnect(std::move(request)); });
        methods.add(Service::GetTargetDisks, [this](auto request) { return disks(std::move(request)); });
        methods.add(Service::SetMutualChapSecret, [this](auto request) { return set_secret(std::move(request)); });
    }

private:
    Result<void> check() const { return iscsi_ ? Result<void>() : Result<void>(not_on_this_host("iSCSI targets")); }
    Result<Iscsi::Portal> check(const schema::Box<TargetPortal>& portal) const {
        TRY_VOID(check());
        return checked_portal(portal);
    }

    Task<AddTargetPortalResponse> add(AddTargetPortalRequest request) {
        CO_TRY(Iscsi::Portal portal, check(request.target_portal));
        CO_TRY_VOID(co_await iscsi_->add_portal(std::move(portal)));
        co_return AddTargetPortalResponse();
    }
    Task<DiscoverTargetPortalResponse> discover(DiscoverTargetPortalRequest request) {
        CO_TRY(Iscsi::Portal portal, check(request.target_portal));
        DiscoverTargetPortalResponse response;
        CO_TRY(response.iqns, co_await iscsi_->discover(std::move(portal)));
        co_return response;
    }
    Task<ListTargetPortalsResponse> list() {
        CO_TRY_VOID(check());
        CO_TRY(const auto portals, co_await iscsi_->portals());
        ListTargetPortalsResponse response;
        for (const Iscsi::Portal& portal : portals) {
            auto& entry = response.target_portals.emplace_back();
            entry.target_address = portal.address;
            entry.target_port = portal.port;
        }
        co_return response;
    }
    Task<RemoveTargetPortalResponse> remove(RemoveTargetPortalRequest request) {
        CO_TRY(Iscsi::Portal portal, check(request.target_portal));
        CO_TRY_VOID(co_await iscsi_->remove_portal(std::move(portal)));
        co_return RemoveTargetPortalResponse();
    }
    Task<ConnectTargetResponse> connect(ConnectTargetRequest request) {
        CO_TRY(Iscsi::Portal portal, check(request.target_portal));
        CO_TRY_VOID(check_target(request.iqn));
        CO_TRY(const Iscsi::Chap chap, chap_of(request.auth_type));
        Iscsi::Login login{.chap = chap,
                           .user = std::move(request.chap_username),
                           .secret = std::move(request.chap_secret),
                           .multipath = request.is_multipath};
        CO_TRY_VOID(co_await iscsi_->connect(std::move(portal), std::move(request.iqn), std::move(login)));
        co_return ConnectTargetResponse();
    }
    Task<DisconnectTargetResponse> disconnect(DisconnectTargetRequest request) {
        CO_TRY(Iscsi::Portal portal, check(request.target_portal));
        CO_TRY_VOID(check_target(request.iqn));
        CO_TRY_VOID(co_await iscsi_->disconnect(std::move(portal), std::move(request.iqn)));
        co_return DisconnectTargetResponse();
    }
    Task<GetTargetDisksResponse> disks(GetTargetDisksRequest request) {
        CO_TRY(Iscsi::Portal portal, check(request.target_portal));
        CO_TRY_VOID(check_target(request.iqn));
        CO_TRY(const auto numbers, co_await iscsi_->disks_of(std::move(portal), std::move(request.iqn)));
        GetTargetDisksResponse response;
        for (const DiskNumber number : numbers) response.disk_ids.push_back(std::to_string(number));
        co_return response;
    }
    Task<SetMutualChapSecretResponse> set_secret(SetMutualChapSecretRequest request) {
        CO_TRY_VOID(check());
        CO_TRY_VOID(co_await iscsi_->set_mutual_secret(std::move(request.mutual_chap_secret)));
        co_return SetMutualChapSecretResponse();
    }

    Iscsi* iscsi_;
};

}  // namespace

Group make_iscsi_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<IscsiGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
