/* Pong with its scripted and its six-node network players as one fused C loop, a match at a time: the yardstick.
 *
 * Written independently of the kernels, for the same results to the bit: scores, statistics and packed actions.
 * Build: cc -O3 -march=native -ffp-contract=off -shared -fPIC reference.c -lm
 */
#include <math.h>
#include <stdint.h>

#define GOLDEN 0x9E3779B97F4A7C15ULL
static const double GOAL = 373.0, WALL = 293.0, RADIUS = 7.0;

typedef struct { int32_t points; uint32_t limit; double half, pace, serve, top; } Rules;
typedef struct { int32_t style; uint32_t hold; int32_t centre; double dead_zone, reach, noise; } Bot;
typedef struct { double weight[6][8]; double bias[6]; } Net; /* three hidden nodes on 8 inputs, three outputs on 3 */
typedef struct { uint64_t serve_side, serve_angle, agent, move, error; } Purposes;

typedef struct {
    double x, y, vx, vy, speed, paddle[2];
    int32_t score[2];
    uint32_t step, serves, first, event, rally, longest, hits[2], reactions[2], reaction[2];
    int over, idle[2];
    double distance[2], contact[2], contact2[2], speeds[2];
    uint64_t seed;
} Board;

static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}
static inline uint64_t draw(uint64_t seed, uint64_t purpose, uint64_t seat, uint64_t ply) {
    return mix(mix(seed ^ purpose) + (((seat << 56) ^ ply) + 1) * GOLDEN);
}
static inline double unit(uint64_t bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }
static inline double fold(double y) { return y < -WALL ? -2.0 * WALL - y : y > WALL ? 2.0 * WALL - y : y; }

static void serve(Board *b, const Rules *r, const Purposes *p) {
    double spread = 2.0 * unit(draw(b->seed, p->serve_angle, 0, b->serves)) - 1.0;
    b->x = b->y = 0.0;
    b->speed = r->serve;
    b->vy = b->speed * 0.7 * spread;
    b->vx = sqrt(b->speed * b->speed - b->vy * b->vy);
    if (((b->first + b->serves) & 1) == 0) b->vx = -b->vx;
    b->serves++;
    b->rally = 0;
    b->event = b->step;
    b->idle[0] = b->idle[1] = 0;
}

static inline void move(Board *b, int s, int action, const Rules *r) {
    if (!action) return;
    double edge = 300.0 - r->half, before = b->paddle[s];
    double y = action == 1 ? before - r->pace : before + r->pace;
    y = y < -edge ? -edge : y > edge ? edge : y;
    b->paddle[s] = y;
    b->distance[s] += fabs(y - before);
    if (b->idle[s]) {
        b->idle[s] = 0;
        b->reactions[s]++;
        b->reaction[s] += b->step - b->event;
    }
}

static inline void step(Board *b, int left, int right, const Rules *r, const Purposes *p) {
    move(b, 0, left, r);
    move(b, 1, right, r);
    b->step++;
    double x = b->x + b->vx, y;
    if (fabs(x) > GOAL) {
        int s = x < 0.0 ? 0 : 1;
        double side = s ? 1.0 : -1.0, t = (side * GOAL - b->x) / b->vx;
        y = fold(b->y + b->vy * t);
        if (fabs(y - b->paddle[s]) <= r->half + RADIUS) {
            double place = (y - b->paddle[s]) / (r->half + RADIUS);
            b->hits[s]++;
            b->contact[s] += place;
            b->contact2[s] += place * place;
            b->speeds[s] += b->speed;
            if (++b->rally > b->longest) b->longest = b->rally;
            b->speed = b->speed * 1.05 < r->top ? b->speed * 1.05 : r->top;
            b->vy = b->speed * 0.85 * place;
            b->vx = -side * sqrt(b->speed * b->speed - b->vy * b->vy);
            b->x = side * GOAL + b->vx * (1.0 - t);
            y += b->vy * (1.0 - t);
            b->y = fold(y);
            if (b->y != y) b->vy = -b->vy;
            b->idle[s] = 0;
            b->idle[1 - s] = 1;
            b->event = b->step;
        } else {
            if (++b->score[1 - s] >= r->points) b->over = 1;
            serve(b, r, p);
        }
    } else {
        y = b->y + b->vy;
        b->x = x;
        b->y = fold(y);
        if (b->y != y) b->vy = -b->vy;
    }
    if (b->step >= r->limit && !b->over) b->over = 2;
}

static inline void observe(const Board *b, int s, const Rules *r, float *o) {
    double side = s ? -1.0 : 1.0, own = b->paddle[s], per_speed = 1.0 / r->top;
    o[0] = (float)(own * (2.0 / 600.0));
    o[1] = (float)(side * b->x * (2.0 / 800.0) + 0.0);
    o[2] = (float)(b->y * (2.0 / 600.0));
    o[3] = (float)(side * b->vx * per_speed);
    o[4] = (float)(b->vy * per_speed);
    o[5] = (float)((own - b->y) * (1.0 / 600.0));
    o[6] = side * b->vx < 0.0 ? 1.0f : 0.0f;
    o[7] = (float)(b->paddle[1 - s] * (2.0 / 600.0));
}

static inline int bot_act(const Bot *bot, const float *o, uint64_t seed, uint32_t ply, const Purposes *p) {
    const double edge = GOAL * 2.0 / 800.0, top = WALL * 2.0 / 600.0;
    double x = o[1], y = o[2], vx = o[3], vy = o[4], aim;
    if (bot->style == 0) return 0;
    if (bot->style == 1) return (int)(draw(seed, p->move, 0, ply / bot->hold) % 3);
    int near = x <= 2.0 * bot->reach - 1.0;
    if (bot->style == 2) {
        if (!near) return 0;
        aim = y;
    } else if (vx >= 0.0) {
        if (!bot->centre) return 0;
        aim = 0.0;
    } else if (!near) {
        return 0;
    } else {
        double far = y + vy * ((x + edge) / -vx) * (800.0 / 600.0), turns = (far + top) / (4.0 * top);
        far = (turns - floor(turns)) * 4.0 * top - top;
        aim = far <= top ? far : 2.0 * top - far;
        if (bot->noise > 0.0)
            aim += bot->noise * (2.0 * unit(draw(seed, p->error, 0, (uint32_t)((int64_t)(aim * 16.0) + 1000))) - 1.0);
    }
    double off = o[0] - aim;
    return off > bot->dead_zone ? 1 : off < -bot->dead_zone ? 2 : 0;
}

static inline int net_act(const Net *net, const float *o) {
    double hidden[3], best = 0.0;
    int action = 0;
    for (int n = 0; n < 6; n++) {
        double sum = 0.0;
        if (n < 3) for (int k = 0; k < 8; k++) sum += (double)o[k] * net->weight[n][k];
        else for (int k = 0; k < 3; k++) sum += hidden[k] * net->weight[n][k];
        double z = 2.5 * (net->bias[n] + sum);
        z = tanh(z < -60.0 ? -60.0 : z > 60.0 ? 60.0 : z);
        if (n < 3) hidden[n] = z;
        else if (n == 3 || z > best) { best = z; action = n - 3; }
    }
    return action;
}

/* Plays n matches. kind 0: bots, 1: nets; players[i][seat] indexes them. log has `room` bytes a match. */
void play(int64_t n, int32_t kind, const uint64_t *seeds, const int32_t (*players)[2], const Bot *bots, const Net *nets,
          const Rules *r, const Purposes *p, double (*scores)[2], uint32_t *steps, double (*stats)[2][8],
          uint8_t *log, int64_t room) {
    for (int64_t i = 0; i < n; i++) {
        Board b = {.seed = seeds[i], .first = (uint32_t)draw(seeds[i], p->serve_side, 0, 0) & 1};
        serve(&b, r, p);
        uint64_t seed[2];
        for (int s = 0; s < 2; s++) seed[s] = draw(seeds[i], p->agent, (uint64_t)s, 0);
        uint8_t *at = log + i * room;
        while (!b.over) {
            int action[2];
            for (int s = 0; s < 2; s++) {
                float o[8];
                observe(&b, s, r, o);
                action[s] = kind ? net_act(nets + players[i][s], o) : bot_act(bots + players[i][s], o, seed[s], b.step, p);
            }
            int packed = action[0] | action[1] << 2;
            if (b.step & 1) at[b.step >> 1] |= (uint8_t)(packed << 4);
            else at[b.step >> 1] = (uint8_t)packed;
            step(&b, action[0], action[1], r, p);
        }
        steps[i] = b.step;
        for (int s = 0; s < 2; s++) {
            double hits = b.hits[s] ? b.hits[s] : 1.0, mean = b.contact[s] / hits, var = b.contact2[s] / hits - mean * mean;
            double row[8] = {b.hits[s], b.score[1 - s], b.distance[s], b.reaction[s] / (b.reactions[s] ? (double)b.reactions[s] : 1.0),
                             mean, sqrt(var > 0.0 ? var : 0.0), b.speeds[s] / hits, b.longest};
            scores[i][s] = b.score[s];
            for (int k = 0; k < 8; k++) stats[i][s][k] = row[k];
        }
    }
}
