# The service alone: PostgreSQL runs elsewhere and is named by DATABASE_URL. compose.yaml starts both.
FROM node:26-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# Optional packages are the PostgreSQL that comes along on a machine without one; nothing here needs install scripts.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

# The dashboard is built here, so that its tools are not in the image.
FROM node:26-slim AS dashboard
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY client ./client
COPY examples ./examples
COPY dashboard ./dashboard
RUN node scripts/build-dashboard.ts

FROM node:26-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 TOLLKEEPER_DATA_DIR=/data
# Looking up a name takes a thread for as long as its name server takes.
ENV UV_THREADPOOL_SIZE=64
# Holds the encryption key where TOLLKEEPER_ENCRYPTION_KEY is not set: mount something there that outlives the container.
RUN mkdir --mode=700 /data && chown node:node /data
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=dashboard /app/dashboard/dist ./dashboard/dist
COPY package.json openapi.json LICENSE ./
COPY src ./src
COPY migrations ./migrations
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# As scripts/launch.js has it: what requests need while they are under way is copied less often.
CMD ["node", "--max-semi-space-size=64", "src/main.ts", "serve"]
