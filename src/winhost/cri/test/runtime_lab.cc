#include "winhost/cri/test/runtime_lab.h"
#include "runtime/files/mounts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "runtime/scope.h"
#include "winhost/runtime/records.h"
#include "winhost/template/wine_template.h"

namespace porthole::winhost {

namespace cri = api::cri::v1;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t FewProcesses = 80;  // for one container: a storm of processes is soon over

const std::string HostName = "lab-" + std::to_string(::getpid());  // its cgroup: several labs may be there at once
const std::string Packaging = std::string(PORTHOLE_SOURCE) + "/packaging/windows_images/";

void must(const std::string& command) {
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << command;
}

}  // namespace

Task<> LabNetwork::run(std::string command) {
    Command shell;
    shell.arguments = {"sh", "-ec", std::move(command)};
    CO_TRY(const CommandOutput output, co_await processes_.run(std::move(shell)));
    if (output.exit_code != 0) co_return Error(Reason::Io, output.errors);
    co_return {};
}

Task<std::string> LabNetwork::create_namespace() {
    const std::string id = "lab-" + std::to_string(::getpid()) + "-" + std::to_string(++next_);
    CO_TRY_VOID(co_await run("mkdir -p " + folder_ + " && touch " + path(id) + " && unshare --net=" + path(id) + " ip link set lo up"));
    co_return id;
}

Task<> LabNetwork::remove_namespace(std::string namespace_id) {
    const std::string file = path(namespace_id);
    co_return co_await run("! test -e " + file + " || { umount " + file + "; rm " + file + "; }");
}

Task<PodAddresses> LabNetwork::attach(PodAttachment attachment) {
    if (fails_) co_return Error(Reason::Unknown, "no network today");
    const std::string number = std::to_string(next_), address = "10.9.0." + std::to_string(next_ % 250 + 2);
    const std::string inside = "nsenter --net=" + path(attachment.namespace_id) + " ";
    CO_TRY_VOID(co_await run(inside + "ip link add eth0 type veth peer name lab" + number + " netns " + std::to_string(::getpid()) +  //
                             " && " + inside + "ip addr add " + address + "/24 dev eth0 && " + inside + "ip link set eth0 up && " +
                             "ip link set lab" + number + " up && ip route replace " + address + " dev lab" + number + " src 10.9.0.1"));
    co_return PodAddresses{{address}, {}, {}};
}

Task<> LabNetwork::run_inside(std::string command) {
    co_return co_await run("nsenter --net=" + path("lab-" + std::to_string(::getpid()) + "-" + std::to_string(next_)) + " sh -ec '" +
                           command + "'");
}

std::string RuntimeLab::missing() {
    if (::geteuid() != 0) return "needs root";
    for (const char* program : {"/usr/lib/wine/wine64", "/usr/sbin/runc", "/usr/bin/x86_64-w64-mingw32-gcc-posix"})
        if (::access(program, X_OK) != 0) return std::string("needs ") + program;
    return "";
}

RuntimeLab::RuntimeLab() {
    static const bool alone =
        ::unshare(CLONE_NEWNET) == 0 &&
        std::system("ip link set lo up && ip link add host type bridge && ip addr add 10.9.0.1/32 dev host && ip link set host up") == 0;
    EXPECT_TRUE(alone);
    char folder[] = "/tmp/phlab.XXXXXX";
    folder_ = ::mkdtemp(folder);
    fs::create_directories(host_drive());
    start();
    import_images();
}

RuntimeLab::~RuntimeLab() {
    EXPECT_TRUE(run(runtime_->remove_everything()));
    stop();
    EXPECT_TRUE(unmount_below(folder_));
    fs::remove_all(folder_);
}

void RuntimeLab::start() {
    const auto wine = run(ensure_wine_template({loop, *processes_, *files_, *pool_, {}}, default_cache_folder()));
    ASSERT_TRUE(wine) << wine.error().message;
    const HostProfile profile = find_host_profile("2022").value();
    const Logger log(make_stderr_sink(LogLevel::Warn), "lab");
    ImageStore::Options options{.root = folder_ + "/images", .host = OsVersion::parse(profile.version()).value()};
    options.template_lowers = wine->lowers(profile);
    options.template_id = wine->id;
    store_ = std::move(ImageStore::open(std::move(options), loop, *pool_, registry, log)).value();
    network_ = std::make_unique<LabNetwork>(*processes_, folder_ + "/n");
    runtime_ = std::make_unique<Runtime>(RuntimeContext{.loop = loop,
                                                        .processes = *processes_,
                                                        .files = *files_,
                                                        .pool = *pool_,
                                                        .random = random_,
                                                        .images = *store_,
                                                        .network = *network_,
                                                        .log = log},
                                         RuntimeOptions{.host_name = HostName,
                                                        .data = folder_ + "/r",
                                                        .host_root = host_root(),
                                                        .host_socket = folder_ + "/host",
                                                        .profile = profile,
                                                        .wine = *wine,
                                                        .sandbox_image = sandbox_image,
                                                        .process_limit = FewProcesses});
    const auto started = run(runtime_->start());
    ASSERT_TRUE(started) << started.error().message;
    image_service_ = make_image_service(loop, *store_, OsVersion::parse(profile.version()).value(), folder_ + "/r");
    server_ = std::make_unique<CriServer>(loop, random_, *runtime_, *image_service_, log);
    ASSERT_TRUE(server_->listen({.unix_socket = folder_ + "/cri.sock", .token = "secret"}));
    client_ = kubelet::connect_runtime(loop, "unix://" + folder_ + "/cri.sock");
}

void RuntimeLab::stop() {
    EXPECT_TRUE(run(client_->close()));
    EXPECT_TRUE(run(server_->close()));
    EXPECT_TRUE(run(runtime_->close()));
    client_.reset();
    server_.reset();
    image_service_.reset();
    runtime_.reset();
    store_.reset();
}

void RuntimeLab::import_images() {
    const std::string programs = folder_ + "/programs", archive = folder_ + "/image.tar";
    fs::create_directories(programs);
    for (const std::string name : {"probe", "piped", "supplement", "users", "jobs", "streams", "console", "events", "service"})
        must("x86_64-w64-mingw32-gcc-posix -Os -s -static -Wall -Werror -o " + programs + "/" + name +
             ".exe " PORTHOLE_SOURCE "/src/winhost/cri/test/" + name + ".c -lws2_32 -loleaut32");
    must("python3 " + Packaging + "build.py " + archive + " --name lab/probe:1 --workdir 'C:\\app' --layer '" + programs +
         "=C:\\app' --entrypoint 'C:\\app\\probe.exe' --cmd wait");
    must("python3 " + Packaging + "make_images.py web " + folder_ + "/web.tar --name lab/web:1");
    for (const std::string& file : {archive, folder_ + "/web.tar"}) {
        const auto imported = run(store_->import_archive(file));
        ASSERT_TRUE(imported) << imported.error().message;
    }
}

std::string RuntimeLab::make_sandbox(const std::string& name) {
    const auto made = try_sandbox(name);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or("");
}

Result<std::string> RuntimeLab::try_sandbox(const std::string& name) {
    cri::RunPodSandboxRequest request;
    cri::PodSandboxConfig config;
    config.metadata = cri::PodSandboxMetadata{.name = name, .uid = "uid-" + name, .namespace_ = "lab"};
    config.hostname = name;
    config.log_directory = "C:\\var\\log\\pods\\" + name;
    request.config = std::move(config);
    TRY(const auto made, run(cri().run_pod_sandbox(std::move(request))));
    return made.pod_sandbox_id;
}

cri::ContainerConfig RuntimeLab::probe(const std::string& name, std::vector<std::string> arguments) {
    cri::ContainerConfig config;
    config.metadata = cri::ContainerMetadata{.name = name};
    cri::ImageSpec image;
    image.image = "lab/probe:1";
    config.image = std::move(image);
    config.args = std::move(arguments);
    config.log_path = name + ".log";
    return config;
}

void RuntimeLab::play_host(const std::string& container) {
    fs::remove(folder_ + "/host");
    // The very socket: a link to one is refused.
    if (!container.empty()) fs::create_hard_link(folder_ + "/r/c/" + container.substr(0, 13) + "/x/s", folder_ + "/host");
}

std::string RuntimeLab::make_container(const std::string& sandbox, const cri::ContainerConfig& config) {
    cri::CreateContainerRequest request;
    request.pod_sandbox_id = sandbox;
    request.config = config;
    const auto made = run(cri().create_container(std::move(request)));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->container_id : "";
}

std::string RuntimeLab::start_container(const std::string& id) {
    const auto started = run(cri().start_container({.container_id = id}));
    return started ? "" : started.error().message;
}

std::string RuntimeLab::start_container_late(const std::string& id) {
    const std::string exchange = folder_ + "/r/c/" + id.substr(0, 13) + "/x";
    Scope scope(loop);
    scope.spawn([](EventLoop& loop, std::string exchange) -> Task<> {
        while (!fs::exists(exchange + "/s")) CO_TRY_VOID(co_await loop.sleep(1ms));
        for (int round = 0; round < 24000 && !fs::exists(exchange + "/exit"); ++round) std::this_thread::sleep_for(5ms);
        EXPECT_TRUE(fs::exists(exchange + "/exit"));
        co_return {};
    }(loop, exchange));
    std::string error = start_container(id);
    EXPECT_TRUE(run(scope.close()));
    return error;
}

cri::ContainerStatus RuntimeLab::status(const std::string& id) {
    cri::ContainerStatusRequest request;
    request.container_id = id;
    const auto answer = run(cri().container_status(std::move(request)));
    EXPECT_TRUE(answer && answer->status);
    return answer && answer->status ? *answer->status : cri::ContainerStatus();
}

cri::ContainerStatus RuntimeLab::wait_for_end(const std::string& id) {
    for (int round = 0; round < 2400; ++round) {
        const auto now = status(id);
        if (now.state == cri::ContainerState::ContainerExited) return now;
        EXPECT_TRUE(run(loop.sleep(50ms)));
    }
    ADD_FAILURE() << "the container runs on";
    return {};
}

void RuntimeLab::wait_for_log(const std::string& name, const std::string& text) {
    for (int round = 0; round < 2400; ++round) {
        if (log(name).find(text) != std::string::npos) return;
        EXPECT_TRUE(run(loop.sleep(50ms)));
    }
    ADD_FAILURE() << name << " does not print " << text << ", but:\n" << log(name);
}

std::string RuntimeLab::log(const std::string& name) {
    std::string text;
    for (const auto& entry : fs::recursive_directory_iterator(host_drive() + "/var/log/pods")) {
        if (entry.path().filename() != name + ".log") continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            if (line.ends_with('\r')) line.pop_back();
            text += line.substr(std::min(line.find(' '), line.size() - 1) + 1) + "\n";
        }
    }
    return text;
}

std::string RuntimeLab::address(const std::string& sandbox) {
    cri::PodSandboxStatusRequest request;
    request.pod_sandbox_id = sandbox;
    const auto answer = run(cri().pod_sandbox_status(std::move(request)));
    return answer && answer->status && answer->status->network ? answer->status->network->ip : "";
}

std::vector<pid_t> RuntimeLab::processes_of(const std::string& container) {
    std::vector<pid_t> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator("/proc", code)) {
        const auto group = files_->read((entry.path() / "cgroup").string());
        const std::string name = entry.path().filename().string();
        if (group && std::isdigit(name[0]) && group->find(short_id(container)) != std::string::npos)
            found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
}

std::string RuntimeLab::name_of(pid_t process) {
    const std::string name = files_->read("/proc/" + std::to_string(process) + "/comm").value_or("");
    return name.substr(0, name.find('\n'));
}

void RuntimeLab::kill_process(const std::string& container, const std::string& name) {
    for (const pid_t process : processes_of(container))
        if (name_of(process) == name) ::kill(process, SIGKILL);
}

std::string RuntimeLab::processes_on_few_processors(const std::string& container) {
    cpu_set_t own, its;
    EXPECT_EQ(::sched_getaffinity(0, sizeof own, &own), 0);
    std::string found;
    for (const pid_t process : processes_of(container)) {
        std::error_code code;
        for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", code)) {
            const auto id = static_cast<pid_t>(std::stol(thread.path().filename().string()));
            if (::sched_getaffinity(id, sizeof its, &its) == 0 && !CPU_EQUAL(&its, &own)) found += name_of(process) + "\n";
        }
    }
    return found;
}

std::string RuntimeLab::leftovers() {
    std::string found;
    const auto look = [&](const std::string& folder) {
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(folder, code)) found += entry.path().string() + "\n";
    };
    for (const char* folder : {"/r/c", "/r/s", "/r/runc", "/n"}) look(folder_ + folder);
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
        if (line.find(folder_) != line.npos) found += line + "\n";
    for (const char* hierarchy : {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(std::string(hierarchy) + "/porthole-winhost/" + HostName, code))
            if (entry.is_directory()) found += entry.path().string() + "\n";
    }
    return found;
}

}  // namespace porthole::winhost
