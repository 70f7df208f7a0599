/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ORB and the kernel alone need for the ways of a call. Asked down: client to master and back,
 * one-way messages from the master through the leader to the server and back meanwhile, then client to server
 * and back. Scheduled from memory: client to master and back, client to server and back, where another
 * process does the work meanwhile. The relays do nothing but pass the struct on. No hierarchy with these hops
 * over this ORB can be faster.
 *
 *   reference_chain          commands on standard input, answers on standard output:
 *       latency N            N calls that are asked down; their median in microseconds
 *       rate N THREADS       N calls scheduled from memory by each of that many threads; calls per second
 */
#include "bench/reference_twoway.hh"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <linux/futex.h>
#include <set>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

/* A process that adds, and the memory shared with it: asked and answered by a futex each. */
struct Worker {
    std::atomic<uint32_t> asked, answered;
    double a, b, sum;
};

enum { WORKERS = 8 };

void sleep_until_changed(std::atomic<uint32_t> &word, uint32_t from)
{
    while (word.load() == from)
        syscall(SYS_futex, &word, FUTEX_WAIT, from, nullptr, nullptr, 0);
}

void change(std::atomic<uint32_t> &word)
{
    word++;
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/* The most recently used one first. */
class Workers
{
  public:
    Workers()
    {
        void *memory = mmap(nullptr, WORKERS * sizeof(Worker), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            abort();
        for (int i = 0; i < WORKERS; i++) {
            Worker *worker = new (static_cast<Worker *>(memory) + i) Worker();
            idle.push_back(worker);
            if (fork() == 0)
                run(*worker);
        }
    }

    double add(double a, double b)
    {
        std::unique_lock<std::mutex> lock(mutex);
        returned.wait(lock, [&] { return !idle.empty(); });
        Worker *worker = idle.back();
        idle.pop_back();
        lock.unlock();
        worker->a = a;
        worker->b = b;
        uint32_t before = worker->answered.load();
        change(worker->asked);
        sleep_until_changed(worker->answered, before);
        double sum = worker->sum;
        lock.lock();
        idle.push_back(worker);
        returned.notify_one();
        return sum;
    }

  private:
    [[noreturn]] static void run(Worker &worker)
    {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (uint32_t seen = 0;; seen++) {
            sleep_until_changed(worker.asked, seen);
            worker.sum = worker.a + worker.b;
            change(worker.answered);
        }
    }

    std::mutex mutex;
    std::condition_variable returned;
    std::vector<Worker *> idle;
};

class Relay : public POA_Reference::Relay
{
  public:
    Relay(Reference::Relay_ptr above, Workers &those)
        : parent(Reference::Relay::_duplicate(above)), workers(those)
    {
    }

    CORBA::Double add(const Reference::Small &numbers) override
    {
        return numbers.a + numbers.b;
    }

    CORBA::Double submit(const Reference::Small &numbers) override
    {
        child->ask(numbers);
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return answered.erase(numbers.tag) > 0; });
        return numbers.a;
    }

    CORBA::Double compute(const Reference::Small &numbers) override
    {
        return workers.add(numbers.a, numbers.b);
    }

    void ask(const Reference::Small &numbers) override
    {
        if (CORBA::is_nil(child))
            parent->answer(numbers);
        else
            child->ask(numbers);
    }

    void answer(const Reference::Small &numbers) override
    {
        if (!CORBA::is_nil(parent)) {
            parent->answer(numbers);
            return;
        }
        std::lock_guard<std::mutex> lock(mutex);
        answered.insert(numbers.tag);
        changed.notify_one();
    }

    void attach(Reference::Relay_ptr below) override
    {
        child = Reference::Relay::_duplicate(below);
    }

  private:
    Reference::Relay_var parent, child;
    Workers &workers;
    std::mutex mutex;
    std::condition_variable changed;
    std::set<CORBA::Long> answered;
};

CORBA::ORB_ptr make_orb()
{
    int argc = 0;
    const char *options[][2] = {
        {"endPoint", "giop:tcp:127.0.0.1:0"}, {"maxGIOPConnectionPerServer", "64"}, {nullptr, nullptr}};
    return CORBA::ORB_init(argc, nullptr, "omniORB4", options);
}

Reference::Relay_ptr relay_at(CORBA::ORB_ptr orb, const std::string &reference)
{
    if (reference.empty())
        return Reference::Relay::_nil();
    CORBA::Object_var object = orb->string_to_object(reference.c_str());
    return Reference::Relay::_narrow(object);
}

/* The life of a relay: writes its reference, serves until it is killed. */
[[noreturn]] void serve(const std::string &parent, int out)
{
    Workers workers; /* before there are threads */
    CORBA::ORB_var orb = make_orb();
    CORBA::Object_var object = orb->resolve_initial_references("omniINSPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId("relay");
    Reference::Relay_var above = relay_at(orb, parent);
    Relay relay(above, workers);
    poa->activate_object_with_id(id, &relay);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    object = poa->id_to_reference(id);
    if (!CORBA::is_nil(above)) {
        Reference::Relay_var self = Reference::Relay::_narrow(object);
        above->attach(self);
    }
    CORBA::String_var ior = orb->object_to_string(object);
    std::string line = std::string(ior) + "\n";
    if (write(out, line.data(), line.size()) != (ssize_t)line.size())
        _exit(1);
    orb->run();
    _exit(0);
}

/* Forked before this process has an ORB. Returns its reference. */
std::string start(const std::string &parent, std::vector<pid_t> &children)
{
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        serve(parent, ends[1]);
    }
    close(ends[1]);
    children.push_back(pid);
    std::string reference;
    for (char byte; read(ends[0], &byte, 1) == 1 && byte != '\n';)
        reference += byte;
    close(ends[0]);
    return reference;
}

double now_us()
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

double latency(Reference::Relay_ptr master, Reference::Relay_ptr server, size_t n)
{
    std::vector<double> samples(n);
    for (size_t i = 0; i < n; i++) {
        Reference::Small numbers = {1.0, (double)i, (CORBA::Long)i};
        double before = now_us();
        if (master->submit(numbers) != 1.0 || server->add(numbers) != 1.0 + (double)i)
            abort();
        samples[i] = now_us() - before;
    }
    std::nth_element(samples.begin(), samples.begin() + (long)(n / 2), samples.end());
    return samples[n / 2];
}

double rate(Reference::Relay_ptr master, Reference::Relay_ptr server, size_t n, unsigned n_threads)
{
    std::vector<std::thread> threads;
    double before = now_us();
    for (unsigned t = 0; t < n_threads; t++)
        threads.emplace_back([master, server, n] {
            for (size_t i = 0; i < n; i++) {
                Reference::Small numbers = {1.0, (double)i, (CORBA::Long)i};
                if (master->add(numbers) != 1.0 + (double)i || server->compute(numbers) != 1.0 + (double)i)
                    abort();
            }
        });
    for (auto &thread : threads)
        thread.join();
    return (double)(n * n_threads) * 1e6 / (now_us() - before);
}

} // namespace

int main()
{
    std::vector<pid_t> children;
    std::string at_master = start("", children), at_leader = start(at_master, children),
                at_server = start(at_leader, children);
    CORBA::ORB_var orb = make_orb();
    Reference::Relay_var master = relay_at(orb, at_master), server = relay_at(orb, at_server);
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        size_t n;
        unsigned threads;
        if (sscanf(line, "latency %zu", &n) == 1)
            printf("%.9g\n", latency(master, server, n));
        else if (sscanf(line, "rate %zu %u", &n, &threads) == 2)
            printf("%.9g\n", rate(master, server, n, threads));
        fflush(stdout);
    }
    for (pid_t child : children) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    return 0;
}
