#include "winhost/images/image_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "winhost/images/registry/fake_registry.h"
#include "winhost/images/test_folder.h"
#include "winhost/images/test_tar.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

std::string gzip(const std::string& text) {
    z_stream stream{};
    CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string packed(text.size() + 1024, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(packed.size() - stream.avail_out);
    deflateEnd(&stream);
    return packed;
}

/// What a test says about an image; build() makes its documents.
struct TestImage {
    std::string os = "windows", os_version = "10.0.20348.1";
    std::vector<TestTar> layers;
    bool foreign_base = false;
    std::string command = "C:\\app.exe";

    struct Built {
        std::string config, manifest;
        std::vector<std::string> blobs;
    };
    Built build() const {
        Built built;
        std::string diff_ids, entries;
        if (foreign_base) {
            diff_ids = "\"sha256:" + std::string(64, 'b') + "\"";
            entries = R"({"mediaType":"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip","size":1700000000,"digest":"sha256:)" +
                      std::string(64, 'c') + R"(","urls":["https://mcr.example/base"]})";
        }
        for (const TestTar& layer : layers) {
            built.blobs.push_back(gzip(layer.text()));
            const std::string comma = diff_ids.empty() ? "" : ",";
            diff_ids += comma + "\"" + FakeRegistry::digest(layer.text()) + "\"";
            entries += comma + R"({"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","size":)" +
                       std::to_string(built.blobs.back().size()) + R"(,"digest":")" + FakeRegistry::digest(built.blobs.back()) + "\"}";
        }
        std::string escaped;
        for (const char c : command) escaped += c == '\\' ? "\\\\" : std::string(1, c);
        built.config = R"({"architecture":"amd64","os":")" + os + R"(","os.version":")" + os_version + R"(","config":{"Cmd":[")" + escaped +
                       R"("]},"rootfs":{"type":"layers","diff_ids":[)" + diff_ids + "]}}";
        built.manifest = R"({"schemaVersion":2,"config":{"size":)" + std::to_string(built.config.size()) + R"(,"digest":")" +
                         FakeRegistry::digest(built.config) + R"("},"layers":[)" + entries + "]}";
        return built;
    }
    /// Into the registry; yields the manifest's entry for a list.
    std::string add_to(FakeRegistry& registry, const std::string& repository, const std::string& tag = "") const {
        const Built built = build();
        for (const std::string& blob : built.blobs) registry.add_blob(repository, blob);
        registry.add_blob(repository, built.config);
        const std::string digest = registry.add_manifest(repository, built.manifest, tag);
        return R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":")" + digest +
               R"(","platform":{"architecture":"amd64","os":")" + os + R"(","os.version":")" + os_version + R"("}})";
    }
};

std::string noise(std::size_t size) {
    std::string text;
    for (unsigned x = 1; text.size() < size;) text += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    return text;
}

/// No file of this process grows beyond `bytes`, as on a full disk.
class SmallDisk {
public:
    explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    SmallDisk(const SmallDisk&) = delete;
    ~SmallDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int);
};

class ImageStoreTest : public testing::Test {
protected:
    ImageStoreTest() {
        folder_.write("template/wine/drive_c/windows/system32/kernel32.dll", "Wine");
        options_ = {.root = folder_ / "store",
                    .host = *OsVersion::parse("10.0.20348.2113"),
                    .template_lowers = {folder_ / "template"},
                    .template_id = "t1"};
        open();
    }
    ~ImageStoreTest() override { loop_.run_ready(); }
    void open() {
        store_.reset();
        auto opened = ImageStore::open(options_, loop_, pool_, registry_, Logger(make_null_sink(), "images"));
        ASSERT_TRUE(opened.has_value()) << opened.error().message;
        store_ = std::move(*opened);
    }
    Result<Image> pull(const std::string& reference, Credentials credentials = {}) {
        return sim::run(loop_, store_->pull(reference, std::move(credentials)));
    }
    Result<std::vector<Image>> import(const std::string& path) { return sim::run(loop_, store_->import_archive(path)); }
    void collect() { EXPECT_TRUE(sim::run(loop_, store_->collect_garbage()).has_value()); }
    std::size_t folders() const { return entries("layers"); }
    std::size_t entries(const std::string& name) const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_ / "store/" + name), fs::directory_iterator()));
    }
    static std::string content(const Image& image, const std::string& below_drive, std::size_t layer = 0) {
        return TestFolder::read_file(image.lower_folders.at(layer) + "/wine/drive_c/" + below_drive);
    }
    static TestImage app() { return {.layers = {TestTar().file("Files/App/app.exe", "v1"), TestTar().file("Files/APP/data", "d")}}; }

    TestFolder folder_;
    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    FakeRegistry registry_;
    ImageStore::Options options_;
    std::unique_ptr<ImageStore> store_;
};

TEST_F(ImageStoreTest, PullsTheEntryOfItsBuildAndLaysItsLayersOut) {  // IMG-02, IMG-07
    TestImage other = app();
    other.os_version = "10.0.17763.1";
    other.command = "other";
    const std::string list =
        R"({"schemaVersion":2,"manifests":[)" + other.add_to(registry_, "team/app") + "," + app().add_to(registry_, "team/app") + "]}";
    registry_.add_manifest("team/app", list, "1");
    const auto image = pull("registry.test:5000/team/app:1");
    ASSERT_TRUE(image.has_value()) << image.error().message;
    EXPECT_EQ(image->config.command, std::vector<std::string>{"C:\\app.exe"});
    EXPECT_EQ(image->repo_tags, std::vector<std::string>{"registry.test:5000/team/app:1"});
    EXPECT_EQ(image->repo_digests, std::vector<std::string>{"registry.test:5000/team/app@" + FakeRegistry::digest(list)});
    ASSERT_EQ(image->lower_folders.size(), 2u);
    EXPECT_EQ(content(*image, "App/data"), "d");
    EXPECT_EQ(content(*image, "App/app.exe", 1), "v1");
    EXPECT_EQ(store_->find("registry.test:5000/team/app:1")->id, image->id);
    EXPECT_EQ(store_->find(image->id.substr(7, 10))->id, image->id);
    EXPECT_EQ(store_->find(image->repo_digests[0])->id, image->id);
    EXPECT_EQ(store_->find("registry.test:5000/team/app:2"), nullptr);
    EXPECT_EQ(entries("work"), 0u);
}

TEST_F(ImageStoreTest, RefusesImagesThatCannotRunHere) {  // IMG-01, LIM-41
    TestImage old = app(), linux_image = app();
    old.os_version = "10.0.17763.1";
    linux_image.os = "linux";
    old.add_to(registry_, "old", "1");
    linux_image.add_to(registry_, "linux", "1");
    const auto by_build = pull("registry.test:5000/old:1");
    EXPECT_NE(by_build.error().message.find("ImageOSVersionMismatch: "), std::string::npos) << by_build.error().message;
    EXPECT_NE(by_build.error().message.find("10.0.17763.1, this host is 10.0.20348.2113"), std::string::npos);
    EXPECT_NE(pull("registry.test:5000/linux:1").error().message.find("ImageOSMismatch: "), std::string::npos);
    EXPECT_EQ(registry_.count("/blobs/"), 2u);  // the configurations only
}

TEST_F(ImageStoreTest, DoesNotFetchWindowsItself) {  // IMG-09
    TestImage image = app();
    image.foreign_base = true;
    image.add_to(registry_, "app", "1");
    const auto pulled = pull("registry.test:5000/app:1");
    ASSERT_TRUE(pulled.has_value()) << pulled.error().message;
    EXPECT_TRUE(pulled->base_substituted);
    EXPECT_EQ(pulled->lower_folders.size(), 2u);
    EXPECT_EQ(registry_.count(std::string(64, 'c')), 0u);
    EXPECT_LT(pulled->size, 100'000u);
}

TEST_F(ImageStoreTest, LeavesOutABaseThatIsKnownOnlyByItsContent) {
    const TestTar base = TestTar().file("Files/Windows/System32/ntoskrnl.exe", "MZ").file("Files/Windows/System32/kernel32.dll", "MZ");
    TestImage{.layers = {base, TestTar().file("Files/a", "1")}}.add_to(registry_, "app", "1");
    const auto pulled = pull("registry.test:5000/app:1");
    ASSERT_TRUE(pulled.has_value()) << pulled.error().message;
    EXPECT_TRUE(pulled->base_substituted);
    ASSERT_EQ(pulled->lower_folders.size(), 1u);
    EXPECT_EQ(content(*pulled, "a"), "1");
}

TEST_F(ImageStoreTest, SaysWhenThereIsNoSuchImage) {
    const auto missing = pull("registry.test:5000/nothing:1");
    EXPECT_EQ(missing.error().reason, Reason::NotFound);
    EXPECT_EQ(missing.error().message,
              "failed to pull image \"registry.test:5000/nothing:1\": failed to resolve reference \"registry.test:5000/nothing:1\": "
              "registry.test:5000/nothing:1: not found");
    EXPECT_EQ(pull("UPPER:bad:ref").error().reason, Reason::BadRequest);
}

TEST_F(ImageStoreTest, GetsATokenWithItsCredentials) {  // IMG-09
    app().add_to(registry_, "app", "1");
    registry_.challenge = R"(Bearer realm="http://auth.test/token",service="reg",scope="repository:app:pull")";
    registry_.wanted_authorization["http://registry.test:5000"] = "Bearer T";
    registry_.wanted_authorization["http://auth.test:80"] = "Basic dXNlcjpwYXNz";
    registry_.pages["http://auth.test:80/token"] = {R"({"token":"T"})"};
    EXPECT_TRUE(pull("registry.test:5000/app:1", {.username = "user", .password = "pass"}).has_value());
    EXPECT_EQ(registry_.count("http://auth.test/token?service=reg&scope=repository%3Aapp%3Apull"), 1u);
    const auto denied = pull("registry.test:5000/app:1");
    EXPECT_EQ(denied.error().reason, Reason::Unauthorized) << denied.error().message;
}

TEST_F(ImageStoreTest, AnswersABasicChallenge) {
    app().add_to(registry_, "app", "1");
    registry_.challenge = R"(Basic realm="x")";
    registry_.wanted_authorization["http://registry.test:5000"] = "Basic dXNlcjpwYXNz";
    EXPECT_TRUE(pull("registry.test:5000/app:1", {.username = "user", .password = "pass"}).has_value());
    EXPECT_EQ(pull("registry.test:5000/app:1").error().reason, Reason::Unauthorized);
}

TEST_F(ImageStoreTest, FollowsRedirectsButKeepsItsCredentials) {
    const TestImage image = app();
    image.add_to(registry_, "app", "1");
    for (const std::string& blob : image.build().blobs) {
        const std::string digest = FakeRegistry::digest(blob);
        registry_.pages["http://registry.test:5000/v2/app/blobs/" + digest] = {"", 307, {{"location", "http://store.test/" + digest}}};
        registry_.pages["http://store.test:80/" + digest] = {blob};
    }
    registry_.challenge = R"(Basic realm="x")";
    registry_.wanted_authorization["http://registry.test:5000"] = "Basic dXNlcjpwYXNz";
    ASSERT_TRUE(pull("registry.test:5000/app:1", {.username = "user", .password = "pass"}).has_value());
    EXPECT_EQ(registry_.count("http://store.test"), 2u);
    for (const auto& seen : registry_.requests)
        EXPECT_TRUE(seen.authorization.empty() || seen.url.starts_with("http://registry")) << seen.url;
}

TEST_F(ImageStoreTest, AsksMirrorsFirst) {  // IMG-09
    app().add_to(registry_, "app", "1");
    registry_.endpoint_list.insert(registry_.endpoint_list.begin(), "http://mirror.test");
    ASSERT_TRUE(pull("registry.test:5000/app:1").has_value());
    EXPECT_EQ(registry_.requests[0].url, "http://mirror.test/v2/app/manifests/1?ns=registry.test%3A5000");
}

TEST_F(ImageStoreTest, GoesOnWhereTheConnectionBroke) {
    TestImage image;
    image.layers = {TestTar().file("Files/big", noise(20'000))};
    image.add_to(registry_, "app", "1");
    registry_.cuts = {std::string::npos, 5000, 7000};
    ASSERT_TRUE(pull("registry.test:5000/app:1").has_value());
    EXPECT_EQ(registry_.requests.back().range, "bytes=12000-");
    registry_.ignores_ranges = true;
    registry_.cuts = {std::string::npos, 5000};
    ASSERT_TRUE(sim::run(loop_, store_->remove("registry.test:5000/app:1")).has_value());
    const auto again = pull("registry.test:5000/app:1");
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(content(*again, "big"), noise(20'000));
}

TEST_F(ImageStoreTest, RefusesContentThatIsNotWhatItsDigestSays) {
    const TestImage image = app();
    image.add_to(registry_, "app", "1");
    const std::string digest = FakeRegistry::digest(image.build().blobs[1]);
    auto& body = registry_.pages["http://registry.test:5000/v2/app/blobs/" + digest].body;
    body.back() ^= 1;
    const auto bad = pull("registry.test:5000/app:1");
    EXPECT_EQ(bad.error().reason, Reason::Invalid);
    EXPECT_NE(bad.error().message.find(digest), std::string::npos) << bad.error().message;
    body += "more";
    EXPECT_EQ(pull("registry.test:5000/app:1").error().reason, Reason::Invalid);
    EXPECT_EQ(entries("work"), 0u);
    EXPECT_TRUE(store_->list().empty());
    collect();
    EXPECT_EQ(folders(), 0u);
}

TEST_F(ImageStoreTest, LeavesNothingHalfDoneOnAFullDisk) {
    TestImage packed_too_large = app(), unpacked_too_large = app();
    packed_too_large.layers.push_back(TestTar().file("Files/big", noise(100'000)));
    unpacked_too_large.layers.push_back(TestTar().file("Files/big", std::string(100'000, 'x')));
    packed_too_large.add_to(registry_, "app", "packed");
    unpacked_too_large.add_to(registry_, "app", "unpacked");
    for (const std::string reference : {"registry.test:5000/app:packed", "registry.test:5000/app:unpacked"}) {
        {
            const SmallDisk small(50'000);
            const auto image = pull(reference);
            ASSERT_FALSE(image.has_value());
            EXPECT_EQ(image.error().reason, Reason::Io) << image.error().message;
        }
        EXPECT_EQ(entries("work"), 0u);
        EXPECT_TRUE(store_->list().empty());
        collect();
        EXPECT_EQ(folders(), 0u);
        EXPECT_TRUE(pull(reference).has_value());
        ASSERT_TRUE(sim::run(loop_, store_->remove(reference)).has_value());
    }
}

TEST_F(ImageStoreTest, RefusesALayerWhoseTarIsNotTheOneOfTheConfiguration) {
    TestImage image = app(), other = app();
    other.layers[0].file("Files/more", "");
    const auto built = image.build();
    registry_.add_blob("app", built.config);
    for (const std::string& blob : other.build().blobs) registry_.add_blob("app", blob);
    std::string manifest = other.build().manifest;
    const std::string theirs = FakeRegistry::digest(other.build().config), ours = FakeRegistry::digest(built.config);
    manifest.replace(manifest.find(theirs), theirs.size(), ours);
    registry_.add_manifest("app", manifest, "1");
    const auto bad = pull("registry.test:5000/app:1");
    EXPECT_EQ(bad.error().reason, Reason::Invalid);
    EXPECT_NE(bad.error().message.find("its content is "), std::string::npos) << bad.error().message;
}

TEST_F(ImageStoreTest, PullsAtTheSameTimeShareTheirWork) {
    app().add_to(registry_, "app", "1");
    std::vector<Task<Image>> pulls;
    for (int i = 0; i < 5; ++i) pulls.push_back(store_->pull("registry.test:5000/app:1", {}));
    const auto images = sim::run(loop_, when_all(std::move(pulls)));
    ASSERT_TRUE(images.has_value());
    for (const auto& image : *images) EXPECT_TRUE(image.has_value());
    for (const std::string& blob : app().build().blobs) EXPECT_EQ(registry_.count(FakeRegistry::digest(blob)), 1u);
}

TEST_F(ImageStoreTest, AnAbandonedPullIsTakenOver) {
    app().add_to(registry_, "app", "1");
    TaskContext first(loop_), second(loop_);
    std::optional<Result<Image>> gave_up, went_on;
    start_task(store_->pull("registry.test:5000/app:1", {}), first, [&](Result<Image> image) { gave_up.emplace(std::move(image)); });
    start_task(store_->pull("registry.test:5000/app:1", {}), second, [&](Result<Image> image) { went_on.emplace(std::move(image)); });
    const std::string blob = FakeRegistry::digest(app().build().blobs[0]);
    ASSERT_TRUE(loop_.run_until([&] { return registry_.count(blob) == 1; }, std::chrono::seconds(1)));
    first.cancel();
    ASSERT_TRUE(loop_.run_until([&] { return gave_up && went_on; }, std::chrono::seconds(10)));
    EXPECT_EQ(gave_up->error().reason, Reason::Cancelled);
    EXPECT_TRUE(went_on->has_value()) << went_on->error().message;
}

TEST_F(ImageStoreTest, KeepsItsImagesAcrossRestarts) {
    app().add_to(registry_, "app", "1");
    const auto image = pull("registry.test:5000/app:1");
    fs::create_directories(folder_ / "store/work/7-layer/half");
    open();
    ASSERT_EQ(store_->list().size(), 1u);
    EXPECT_EQ(store_->list()[0].lower_folders, image->lower_folders);
    collect();
    EXPECT_EQ(entries("work"), 0u);
    EXPECT_EQ(folders(), 2u);
    fs::remove_all(image->lower_folders[0]);
    open();
    EXPECT_TRUE(store_->list().empty());
}

TEST_F(ImageStoreTest, ForgetsImagesLaidOutForAnotherTemplate) {
    app().add_to(registry_, "app", "1");
    ASSERT_TRUE(pull("registry.test:5000/app:1").has_value());
    options_.template_id = "t2";
    open();
    EXPECT_TRUE(store_->list().empty());
    collect();
    EXPECT_EQ(folders(), 0u);
}

TEST_F(ImageStoreTest, OnlyOneStoreOpensAFolder) {
    EXPECT_EQ(ImageStore::open(options_, loop_, pool_, registry_, Logger(make_null_sink(), "images")).error().reason, Reason::Conflict);
}

TEST_F(ImageStoreTest, ATagMovesToTheNewImage) {
    app().add_to(registry_, "app", "1");
    const auto first = pull("registry.test:5000/app:1");
    TestImage newer = app();
    newer.command = "C:\\new.exe";
    newer.add_to(registry_, "app", "1");
    const auto second = pull("registry.test:5000/app:1");
    EXPECT_NE(first->id, second->id);
    EXPECT_EQ(second->lower_folders, first->lower_folders);
    EXPECT_TRUE(store_->find(first->id)->repo_tags.empty());
    EXPECT_EQ(store_->find("registry.test:5000/app:1")->id, second->id);
}

TEST_F(ImageStoreTest, RemovesLayersThatNobodyNeeds) {
    app().add_to(registry_, "app", "1");
    const auto image = pull("registry.test:5000/app:1");
    auto hold = store_->hold({image->lower_folders[1]});
    ASSERT_TRUE(sim::run(loop_, store_->remove("registry.test:5000/app:1")).has_value());
    ASSERT_TRUE(sim::run(loop_, store_->remove("registry.test:5000/app:1")).has_value());
    EXPECT_TRUE(store_->list().empty());
    EXPECT_FALSE(fs::exists(image->lower_folders[0]));
    EXPECT_TRUE(fs::exists(image->lower_folders[1]));
    hold.reset();
    collect();
    EXPECT_FALSE(fs::exists(image->lower_folders[1]));
}

TEST_F(ImageStoreTest, PinsTheImagesItIsTold) {  // PAU-05
    options_.pinned = {"registry.test:5000/pause:1"};
    open();
    app().add_to(registry_, "pause", "1");
    TestImage other = app();
    other.command = "other";
    other.add_to(registry_, "app", "1");
    EXPECT_TRUE(pull("registry.test:5000/pause:1")->pinned);
    EXPECT_FALSE(pull("registry.test:5000/app:1")->pinned);
}

TEST_F(ImageStoreTest, CountsWhatItsLayersTake) {
    TestImage image;
    image.layers = {TestTar().file("Files/big", std::string(100'000, 'x'))};
    image.add_to(registry_, "app", "1");
    ASSERT_TRUE(pull("registry.test:5000/app:1").has_value());
    const auto usage = sim::run(loop_, store_->usage());
    ASSERT_TRUE(usage.has_value());
    EXPECT_EQ(usage->mountpoint, folder_ / "store");
    EXPECT_GE(usage->bytes, 100'000u);
    EXPECT_LT(usage->bytes, 200'000u);
    EXPECT_EQ(usage->inodes, 3u);
}

TEST_F(ImageStoreTest, ImportsAnOciLayout) {  // PAU-09
    const TestImage image = app();
    const auto built = image.build();
    for (const std::string& blob : built.blobs) folder_.write("layout/blobs/sha256/" + FakeRegistry::digest(blob).substr(7), blob);
    for (const std::string* text : {&built.config, &built.manifest}) {
        folder_.write("layout/blobs/sha256/" + FakeRegistry::digest(*text).substr(7), *text);
    }
    const std::string digest = FakeRegistry::digest(built.manifest);
    folder_.write("layout/index.json",
                  R"({"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":")" +
                      digest + R"(","annotations":{"org.opencontainers.image.ref.name":"example.test/app:3"}}]})");
    const auto images = import(folder_ / "layout");
    ASSERT_TRUE(images.has_value()) << images.error().message;
    ASSERT_EQ(images->size(), 1u);
    EXPECT_EQ(images->front().repo_tags, std::vector<std::string>{"example.test/app:3"});
    EXPECT_EQ(images->front().repo_digests, std::vector<std::string>{"example.test/app@" + digest});
    EXPECT_EQ(content(images->front(), "App/data"), "d");
}

TEST_F(ImageStoreTest, ImportsWhatDockerSaves) {
    const auto built = app().build();
    TestTar archive;
    archive.file("manifest.json", R"([{"Config":"c.json","RepoTags":["app:1","app:latest"],"Layers":["a/layer.tar","b/layer.tar"]}])");
    archive.file("c.json", built.config).file("a/layer.tar", app().layers[0].text()).file("x.tar", app().layers[1].text());
    archive.symbolic_link("b/layer.tar", "../x.tar");
    for (const std::string& text : {archive.text(), gzip(archive.text())}) {
        folder_.write("saved.tar", text);
        const auto images = import(folder_ / "saved.tar");
        ASSERT_TRUE(images.has_value()) << images.error().message;
        EXPECT_EQ(images->front().repo_tags, (std::vector<std::string>{"docker.io/library/app:1", "docker.io/library/app:latest"}));
        EXPECT_EQ(content(images->front(), "App/data"), "d");
        EXPECT_EQ(store_->find("app")->id, images->front().id);
        ASSERT_TRUE(sim::run(loop_, store_->remove("app:1")).has_value());
    }
    EXPECT_EQ(entries("work"), 0u);
}

/// A hundred lists in a list, three lists deep, would be a million of them.
TEST_F(ImageStoreTest, ReadsNoMoreListsOfAnArchiveThanItMay) {
    TestTar archive;
    const std::string spaces(1 << 20, ' ');  // read as any other text, and quickly
    std::string list = R"({"schemaVersion":2,"manifests":[]})" + spaces;
    for (int depth = 0; depth < 3; ++depth) {
        archive.file("blobs/sha256/" + FakeRegistry::digest(list).substr(7), list);
        const std::string entry =
            R"({"mediaType":"application/vnd.oci.image.index.v1+json","size":1,"digest":")" + FakeRegistry::digest(list) + "\"}";
        std::string entries = entry;
        for (int i = 1; i < 100; ++i) entries += "," + entry;
        list = R"({"schemaVersion":2,"manifests":[)" + entries + "]}" + spaces;
    }
    folder_.write("lists.tar", archive.file("index.json", list).text());
    const auto images = import(folder_ / "lists.tar");
    ASSERT_FALSE(images);
    EXPECT_NE(images.error().message.find("too many manifests"), std::string::npos) << images.error().message;
}

TEST_F(ImageStoreTest, SaysWhyAnArchiveIsOfNoUse) {
    TestImage linux_image = app();
    linux_image.os = "linux";
    folder_.write("linux.tar", TestTar()
                                   .file("manifest.json", R"([{"Config":"c.json","Layers":["a","a"]}])")
                                   .file("c.json", linux_image.build().config)
                                   .file("a", "")
                                   .text());
    folder_.write("empty.tar", TestTar().file("x", "").text());
    folder_.write("escape.tar", TestTar().file("manifest.json", R"([{"Config":"../../etc/passwd","Layers":[]}])").text());
    folder_.write("cut.tar", TestTar().file("index.json", std::string(4000, 'x')).text().substr(0, 1500));
    struct {
        std::string file, message;
    } const rows[] = {{"linux.tar", "ImageOSMismatch: "},
                      {"empty.tar", "neither index.json nor manifest.json"},
                      {"escape.tar", "refers to \"../../etc/passwd\""},
                      {"cut.tar", "cut off"},
                      {"missing.tar", "No such file"}};
    for (const auto& row : rows) {
        const auto images = import(folder_ / row.file);
        ASSERT_FALSE(images.has_value()) << row.file;
        EXPECT_NE(images.error().message.find(row.message), std::string::npos) << images.error().message;
    }
}

}  // namespace
}  // namespace porthole::winhost
