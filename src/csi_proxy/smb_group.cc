#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {
namespace {

using namespace api::csiproxy::v1;

class SmbGroup {
public:
    SmbGroup(GroupContext context, net::GrpcHandler& grpc) : context_(context), shares_(context.host.shares) {
        Methods methods(grpc, {"v1beta2"});
        methods.add(Smb::NewSmbGlobalMapping, [this](auto request) { return map(std::move(request)); });
        methods.add(Smb::RemoveSmbGlobalMapping, [this](auto request) { return unmap(std::move(request)); });
    }

private:
    Result<void> check(const std::string& remote) const {
        if (!shares_) return not_on_this_host("SMB shares");
        return check_share(remote);
    }
    /// "\\server\share" of a checked "\\server\share\folder": Windows maps whole shares.
    static std::string share_of(const std::string& remote) { return remote.substr(0, remote.find('\\', remote.find('\\', 2) + 1)); }
    /// A local path becomes a link to what was named of the share.
    Task<NewSmbGlobalMappingResponse> map(NewSmbGlobalMappingRequest request) {
        CO_TRY_VOID(check(request.remote_path));
        std::string path;
        if (!request.local_path.empty()) {
            CO_TRY(path, context_.paths.check(request.local_path));
        }
        CO_TRY_VOID(co_await shares_->map(share_of(request.remote_path), std::move(request.username), std::move(request.password)));
        if (path.empty()) co_return NewSmbGlobalMappingResponse();
        while (request.remote_path.ends_with('\\')) request.remote_path.pop_back();
        CO_TRY_VOID(co_await run_blocking<void>(context_.pool, [&] { return context_.host.files.link_share(request.remote_path, path); }));
        co_return NewSmbGlobalMappingResponse();
    }
    Task<RemoveSmbGlobalMappingResponse> unmap(RemoveSmbGlobalMappingRequest request) {
        CO_TRY_VOID(check(request.remote_path));
        CO_TRY_VOID(co_await shares_->unmap(share_of(request.remote_path)));
        co_return RemoveSmbGlobalMappingResponse();
    }

    GroupContext context_;
    Shares* shares_;
};

}  // namespace

Group make_smb_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<SmbGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
