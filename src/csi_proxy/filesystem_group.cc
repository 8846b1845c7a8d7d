#include "csi_proxy/groups.h"

namespace porthole::csi_proxy {
namespace {

using namespace api::csiproxy::v1;

class FilesystemGroup {
public:
    FilesystemGroup(GroupContext context, net::GrpcHandler& grpc) : context_(context) {
        Methods methods(grpc, {"v2alpha1"});
        methods.add(Filesystem::PathExists, [this](auto request) { return exists(std::move(request)); });
        methods.add(Filesystem::Mkdir, [this](auto request) { return make(std::move(request)); });
        methods.add(Filesystem::Rmdir, [this](auto request) { return remove(std::move(request)); });
        methods.add(Filesystem::RmdirContents, [this](auto request) { return empty(std::move(request)); });
        methods.add(Filesystem::CreateSymlink, [this](auto request) { return link(std::move(request)); });
        methods.add(Filesystem::IsSymlink, [this](auto request) { return is_link(std::move(request)); });
    }

private:
    Task<PathExistsResponse> exists(PathExistsRequest request) {
        CO_TRY(const std::string path, context_.paths.check(request.path));
        PathExistsResponse response;
        CO_TRY(response.exists, co_await run_blocking<bool>(context_.pool, [&] { return context_.host.files.exists(path); }));
        co_return response;
    }
    Task<MkdirResponse> make(MkdirRequest request) {
        CO_TRY(const std::string path, context_.paths.check(request.path));
        CO_TRY_VOID(co_await run_blocking<void>(context_.pool, [&] { return context_.host.files.create_directories(path); }));
        co_return MkdirResponse();
    }
    Task<RmdirResponse> remove(RmdirRequest request) {
        CO_TRY(const std::string path, context_.paths.check(request.path));
        CO_TRY_VOID(co_await run_blocking<void>(
            context_.pool, [&] { return request.force ? context_.host.files.remove_all(path) : context_.host.files.remove(path); }));
        co_return RmdirResponse();
    }
    Task<RmdirContentsResponse> empty(RmdirContentsRequest request) {
        CO_TRY(const std::string path, context_.paths.check(request.path));
        CO_TRY_VOID(co_await run_blocking<void>(context_.pool, [&] { return context_.host.files.remove_contents(path); }));
        co_return RmdirContentsResponse();
    }
    Task<CreateSymlinkResponse> link(CreateSymlinkRequest request) {
        CO_TRY(const std::string target, context_.paths.check(request.source_path));
        CO_TRY(const std::string path, context_.paths.check(request.target_path));
        CO_TRY_VOID(co_await run_blocking<void>(context_.pool, [&] { return context_.host.files.create_link(target, path); }));
        co_return CreateSymlinkResponse();
    }
    Task<IsSymlinkResponse> is_link(IsSymlinkRequest request) {
        CO_TRY(const std::string path, context_.paths.check(request.path));
        IsSymlinkResponse response;
        CO_TRY(response.is_symlink, co_await run_blocking<bool>(context_.pool, [&] { return context_.host.files.is_link(path); }));
        co_return response;
    }

    GroupContext context_;
};

}  // namespace

Group make_filesystem_group(GroupContext context, net::GrpcHandler& grpc) { return std::make_shared<FilesystemGroup>(context, grpc); }

}  // namespace porthole::csi_proxy
