-- KEYS: the name. Gives the references that are not forgotten.
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. digits(now_us()), '+inf')
