// Against a registry that is not ours: Debian's docker-registry, in a network namespace of its own.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "net/http/http_client.h"
#include "net/socket.h"
#include "net/tls/crypto.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"
#include "winhost/images/image_store.h"
#include "winhost/images/test_folder.h"
#include "winhost/images/test_tar.h"

using namespace std::chrono_literals;

namespace porthole::winhost {
namespace {

constexpr std::uint16_t Port = 5000;

std::string find_registry() {
    for (const char* path : {"/usr/bin/docker-registry", "build/tools/docker-registry", "../../build/tools/docker-registry"}) {
        if (::access(path, X_OK) == 0) return path;
    }
    return "";
}

bool enter_own_network() { return ::unshare(CLONE_NEWNET) == 0 && std::system("ip link set lo up") == 0; }

class RegistryProcess {
public:
    RegistryProcess(const std::string& program, const TestFolder& folder) {
        folder.write("config.yml", "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: " + folder / "data" +
                                       "\nhttp:\n  addr: 127.0.0.1:5000\nlog:\n  level: error\n");
        pid_ = ::fork();
        if (pid_ == 0) {
            ::execl(program.c_str(), program.c_str(), "serve", (folder / "config.yml").c_str(), nullptr);
            ::_exit(127);
        }
    }
    ~RegistryProcess() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_;
};

class Push {
public:
    explicit Push(AsioLoop& loop) : loop_(loop), client_(loop, {.host = "127.0.0.1", .port = Port}, nullptr) {}

    Task<> wait() {
        for (int i = 0; i < 1200; ++i) {
            if (co_await client_.send({.method = "GET", .path = "/v2/"})) co_return {};
            CO_TRY_VOID(co_await loop_.sleep(100ms));
        }
        co_return Error(Reason::Timeout, "the registry does not answer");
    }
    Task<std::string> blob(std::string content) {
        const std::string digest = "sha256:" + net::sha256_hex(content);
        CO_TRY(const auto begun, co_await client_.send({.method = "POST", .path = "/v2/app/blobs/uploads/"}));
        const std::string location(begun.headers.get("location"));
        const std::size_t path = location.find("/v2/"), query = location.find('?');
        CO_TRY_VOID(co_await put(location.substr(path, query - path), location.substr(query + 1) + "&digest=" + digest,
                                 "application/octet-stream", std::move(content)));
        co_return digest;
    }
    Task<std::string> manifest(std::string tag, std::string type, std::string content) {
        const std::string digest = "sha256:" + net::sha256_hex(content);
        CO_TRY_VOID(co_await put("/v2/app/manifests/" + (tag.empty() ? digest : tag), "", type, std::move(content)));
        co_return digest;
    }
    Task<> close() { co_return co_await client_.close(); }

private:
    Task<> put(std::string path, std::string query, std::string type, std::string body) {
        net::HttpRequest request{.method = "PUT", .path = path, .query = query, .body = std::move(body)};
        request.headers.add("content-type", type);
        CO_TRY(const auto response, co_await client_.send(std::move(request)));
        if (response.code != 201) co_return Error(Reason::Unknown, path + ": " + std::to_string(response.code) + " " + response.body);
        co_return {};
    }
    AsioLoop& loop_;
    net::HttpClient client_;
};

std::string descriptor(const std::string& type, const std::string& digest, std::size_t size) {
    return R"({"mediaType":")" + type + R"(","digest":")" + digest + R"(","size":)" + std::to_string(size) + "}";
}

Task<> push_windows_image(Push& push, std::string tar) {
    const std::string diff_id = "sha256:" + net::sha256_hex(tar);
    const std::string config =
        R"({"architecture":"amd64","os":"windows","os.version":"10.0.20348.1","config":{},"rootfs":{"type":"layers",)"
        R"("diff_ids":[")" +
        diff_id + R"("]}})";
    const std::string prefix = "application/vnd.oci.image.";
    const std::size_t tar_size = tar.size();
    CO_TRY(const std::string layer, co_await push.blob(std::move(tar)));
    CO_TRY(const std::string config_digest, co_await push.blob(config));
    const std::string manifest = R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":)" +
                                 descriptor(prefix + "config.v1+json", config_digest, config.size()) + R"(,"layers":[)" +
                                 descriptor(prefix + "layer.v1.tar", layer, tar_size) + "]}";
    CO_TRY(const std::string digest, co_await push.manifest("", prefix + "manifest.v1+json", manifest));
    std::string entry = descriptor(prefix + "manifest.v1+json", digest, manifest.size());
    entry.insert(entry.size() - 1, R"(,"platform":{"architecture":"amd64","os":"windows","os.version":"10.0.20348.1"})");
    const std::string list = R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[)" + entry + "]}";
    CO_TRY_VOID(co_await push.manifest("1", prefix + "index.v1+json", list));
    co_return {};
}

Task<> push_and_pull(AsioLoop& loop, ImageStore& store, std::optional<Image>& image) {
    Push push(loop);
    CO_TRY_VOID(co_await push.wait());
    CO_TRY_VOID(co_await push_windows_image(push, TestTar().file("Files/a", std::string(3'000'000, 'a')).text()));
    CO_TRY(image, co_await store.pull("127.0.0.1:5000/app:1", {}));
    co_return co_await push.close();
}

TEST(Registry, ServesWindowsImages) {  // IMG-02, IMG-09
    const std::string program = find_registry();
    if (program.empty()) GTEST_SKIP() << "docker-registry is not installed";
    if (!enter_own_network()) GTEST_SKIP() << "a network namespace needs root";
    const TestFolder folder;
    const RegistryProcess registry(program, folder);
    AsioLoop loop;
    const auto pool = make_thread_pool(1);
    auto client = make_registry_client(loop, {});
    auto store = ImageStore::open({.root = folder / "store", .host = *OsVersion::parse("10.0.20348")}, loop, *pool, *client,
                                  Logger(make_null_sink(), "images"));
    ASSERT_TRUE(store.has_value());
    std::optional<Image> image;
    std::string error;
    Scope scope(loop, [&](const Error& failed) { error = failed.message; });
    const auto run = [](AsioLoop& loop, ImageStore& store, std::unique_ptr<RegistryClient>& client, std::optional<Image>& image) -> Task<> {
        auto done = co_await with_timeout(push_and_pull(loop, store, image), 240s, "pulling");
        client.reset();
        CO_TRY_VOID(co_await loop.sleep(1ms));  // the connections that it had kept end in the loop's next turns
        loop.stop();
        co_return done;
    };
    scope.spawn(run(loop, **store, client, image));
    loop.run();
    EXPECT_EQ(error, "");
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(std::filesystem::file_size(image->lower_folders.at(0) + "/wine/drive_c/a"), 3'000'000u);
}

}  // namespace
}  // namespace porthole::winhost
