import { featureRoutes } from './routes-features.ts';
import { modelRoutes } from './routes-models.ts';
import { priceRoutes } from './routes-prices.ts';
import { productRoutes } from './routes-products.ts';
import { resourceRoutes } from './routes-resources.ts';
import { usageMeterRoutes } from './routes-usage-meters.ts';

/** The records of a pricing model, one by one. What changes subscriptions too is in lifecycle. */
export const pricingRoutes = [
  ...modelRoutes,
  ...productRoutes,
  ...priceRoutes,
  ...featureRoutes,
  ...usageMeterRoutes,
  ...resourceRoutes,
];
